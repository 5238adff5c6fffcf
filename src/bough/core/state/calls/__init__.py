"""Moves calls of Bough's own tools from one state to the next (`tool_call`) and decides about them: `reach` says which
sessions a calling agent may read, `raised_rights` compares a call with the caller's own rights, and `decide_call`
allows it, asks or refuses.

Called by `tool_calls`, `approvals` and the MCP door, and by `session_lifecycle`. Calls `reports` and `enqueue` beside
it, `policy` and `store`.
"""
