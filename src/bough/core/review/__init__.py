"""Shows the changed files of a worktree, session or task against their base, and keeps each person's review of them:
viewed files, and comments that are sent to the agent as one prompt (V1).

Called by the doors. Calls `sessions`, `worktrees`, `checkpoints`, `store` and `bough.git`."""
