"""Manages what an agent's process gets besides its prompt: environment variables and MCP servers, with secrets masked.

Called by `live_agents`, `sessions`, `trees` and the doors. Calls `store`."""
