"""Tool calls: what the demo agent can do, writing files, running commands and calling MCP tools, and for which of it
the mode asks.

Called by the turn. Calls the updates of the turn and `acp_server`.
"""
