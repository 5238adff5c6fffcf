"""One file per command or group of commands; each has `add_to(app)`, which `bough.api.cli.main` calls.

They call the server through `framework`. The groups that need several files (`session`, `worktree`, `agents`,
`doctor`) have packages of their own.
"""
