"""Reads and writes refs: branches, with their upstreams, the default branch, and the hidden refs of checkpoints.

Called by `worktrees`, `finish` and `working_copy` beside it, and by `core`. Calls `run` and `working_copy.snapshot`.
"""
