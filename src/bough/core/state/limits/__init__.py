"""Limits: how many sessions may be active (`session_limit`), what a tree may use (`budgets`, with `agent_time` and
`cost` for what a turn used), and the clocks of accounts whose limit an agent has met (`agent_limits`).

Called by `turns`, `sessions`, `trees` and the rest of `state`. Calls `store` and the records of sessions.
"""
