"""Removes worktrees: `remove` takes one out of git, the disk and the database; `losses` finds the work that would be
lost, `refusals` states every reason not to remove it, and `preview` shows both beforehand. `recover` brings one back.

Called by `service` and `repair` of worktrees. Calls `creation`, `allowed_paths` and `records` beside it, `store` and
`bough.git`.
"""
