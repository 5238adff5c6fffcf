"""Shows the changed files of a worktree, session or task against their base, and keeps each person's review of them:
viewed files, and comments that are sent to the agent as one prompt (V1). `subjects` finds what is compared,
`changed_files` reads it, `comment_lines` follows comments through later changes, and `drafts` stores them.

Called by the doors. Calls `sessions`, `worktrees`, `checkpoints`, `store` and `bough.git`."""
