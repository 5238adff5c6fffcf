"""Moves calls of Bough's own tools from one state to the next (`tool_call`), and decides which sessions a calling agent
may act on (`call_rights`).

Called by `tool_calls`, `approvals` and the MCP door, and by `session` beside it. Calls `reports` and `enqueue` beside
it, `policy` and `store`.
"""
