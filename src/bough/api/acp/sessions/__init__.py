"""Offers an editor its operations on sessions: `methods` holds the requests, `prompts` runs turns, `approvals` asks the
user, and `open_sessions` tracks which sessions the editor shows. The other modules supply options, commands, folders
and MCP servers. Called by `bough.api.acp.protocol.editor`."""
