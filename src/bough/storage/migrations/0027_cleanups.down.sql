DROP TABLE worktree_cleanups;
