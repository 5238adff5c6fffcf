"""Keeps a folder's files before and after each task on hidden git refs; compares them and restores them.

Called by `turns`, `worktrees`, `trees` and the doors. Calls `transcripts`, `store` and `bough.git`."""
