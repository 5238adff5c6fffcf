"""Offers an editor its operations on sessions: `methods` holds the requests, `prompts` runs turns, `approvals` asks the
user, `open_sessions` tracks which sessions the editor shows, and `children` announces subagents. The other modules run
slash commands and supply folders and MCP servers. Called by `bough.api.acp.protocol.editor`; calls
`bough.api.acp.view`."""
