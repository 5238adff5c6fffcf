"""Runs the real git for worktrees, snapshots, diffs and merges. Arguments never pass through a shell.

`run` is the one module that starts git, with the protections of `safe`. Called by `core`, mostly by `worktrees`,
`checkpoints` and `trees`. Calls the git program.
"""
