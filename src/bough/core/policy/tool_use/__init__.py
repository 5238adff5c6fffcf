"""Reads what an agent wants to do with a tool: `read` makes a `ToolUse` of what the agent says, `mcp_tool` finds the
MCP server of a tool, `json_values` takes values out of the agent's JSON, and `same_action` says what "always"
recognizes.

Called by `decide_for_session` and `explain` of the policy, by `approvals` and by `live_agents`. Calls the catalog of
`bough.agents` and `find_protected_paths`.
"""
