"""Ending: stops turns and ends sessions (`control`, `mark`), archives and deletes them (`archive`, `purge`), alone or
with all their descendants (`cascades`).

Called by the doors, by the rest of `sessions`, by `trees` and by `finish`. Calls `turns` to stop agents, and `state` to
move rows.
"""
