"""Streams: the frames of `bough.core.events.hub` over WebSocket and as server-sent events (`websocket_and_sse`), and
what is typed and printed in a terminal (`terminal_socket`).

`bough.api.server` mounts the routes. They call `http.auth`, the subscriptions of the hub and `core.terminals`."""
