"""Creates worktrees: `create` adds one to git and to the database, `setup` copies files into it and runs the repo's
setup command, and `preview` says beforehand what would be created.

Called by `service` and `repair` of worktrees, and by `removal` for what both share. Calls `paths`, `records` and
`repos` beside it, `store` and `bough.git`.
"""
