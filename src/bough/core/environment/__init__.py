"""Manages what an agent's process gets besides its prompt: environment variables and MCP servers, with secrets masked.

Called by `policy`, `state`, `turns`, `sessions` and the doors. Calls `store`."""
