"""Reads what a repository says about its worktrees, `.bough.toml` and `.worktreeinclude`, and keeps what people decided
about it. Whoever can write to the repository writes these files: nothing of them runs or is copied before a person has
allowed exactly that content, and they never widen rights.

`parse` reads the format, `read` the files, `include` matches files to copy, and `service` stores decisions. Called by
`creation`, `sessions` and the doors. Calls `allowed_paths`, `records`, `store` and `bough.git`.
"""
