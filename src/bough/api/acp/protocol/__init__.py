"""The connection with one editor: `door` is the WebSocket, `rpc` speaks JSON-RPC, `wire` defines the messages, and
`editor` dispatches requests to `bough.api.acp.sessions`. `bough.api.server` mounts the door."""
