"""Finishes a branch: commits chosen files, merges and rebases without running a program, and moves branches with their
checkouts; pushes, fetches, and opens pull requests with the person's own programs.

Merges and rebases are computed as objects first, so that a conflict is known before a file changes. Called by
`core.finish` and, to keep a race's winner, by `core.trees`. Calls `run` and `working_copy`.
"""
