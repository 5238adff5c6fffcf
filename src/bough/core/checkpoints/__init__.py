"""Keeps a folder's files before and after each task on hidden git refs; compares them and restores them.

`take` takes checkpoints and `rows` stores them; `folders` remembers each folder's last files, `diff` compares two
checkpoints, `restore` writes one back unless `restore_conflicts` objects, and `ref_repair` restores lost refs.

Called by `turns`, `worktrees`, `trees` and the doors. Calls `transcripts`, `store` and `bough.git`."""
