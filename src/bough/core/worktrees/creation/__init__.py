"""Creates worktrees: `create` adds one to the database and, through `checkout`, to git. `setup` copies files into it
and runs setup commands; `allowed_setup` finds what people allowed of the repository's own, and `setup_jobs` runs setups
in the background. `preview` says beforehand what would be
created.

Called by `service` and `repair` of worktrees, and by `removal` for what both share. Calls `allowed_paths`, `records`
and `repos` beside it, `store` and `bough.git`.
"""
