"""Tells sessions about each other: `callbacks` writes the report of a child's end, `side_questions` returns answers,
and `quote_sessions` marks texts that other agents wrote.

Called by `task_ended`, `turn` and `calls` beside it, by `trees`, `sessions` and `turns`. Calls `enqueue` beside it and
`store`.
"""
