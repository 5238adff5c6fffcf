"""Approvals: questions to a person that a turn or a call waits for, from being asked to being decided.

`kinds` is the table of what differs by kind. `live_agents` (an agent's permission requests and questions, hosts to
reach, repositories to trust), `turns` (budgets) and `tool_calls` ask here; the doors list and decide through `service`;
`deadlines` says how long an approval waits, and `expiry` answers for people who do not. The room calls `policy` for
what a tool use would be answered now, and `state` to move turns and calls.
"""
