"""`bough worktree`: creating, adopting, showing, changing, removing and recovering worktrees.

`command` declares the group and adds the functions of `show`, `create` and `remove` to it; `find` reads the arguments
that name a worktree.

Called by `bough.api.cli.main`. Calls the server through `framework`.
"""
