"""Manages where sessions work: repositories, boards, and worktrees from creation and setup to removal and recovery.
`allowed_paths` checks that work stays inside the workspace root; `creation/` and `removal/` hold the two long
operations.

Called by `sessions`, `trees` and the doors. Calls `checkpoints`, `store` and `bough.git`."""
