"""`bough worktree`: creating, adopting, showing, changing, finishing, removing and recovering worktrees.

`command` declares the group and adds the functions of the other modules to it, from `create` to `pull_request`,
`checks` and `sweep`; `find` reads the arguments that name a worktree, and `attach` shows a terminal.

Called by `bough.api.cli.main`. Calls the server through `framework`.
"""
