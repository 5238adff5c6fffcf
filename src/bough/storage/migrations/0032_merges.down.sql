ALTER TABLE worktrees DROP COLUMN recovery_sha;
DROP TABLE worktree_merges;
