"""`bough session`: creating, prompting, following, controlling and branching sessions.

`manage` declares the group and adds the functions of `create`, `prompt` and `control` to it; `branch` and `calls` add
their own commands. `follow` shows a session live.

Called by `bough.api.cli.main`. Calls the server through `framework`.
"""
