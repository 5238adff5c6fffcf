ALTER TABLE worktrees DROP COLUMN recovery_ref;
ALTER TABLE repos DROP COLUMN copy_ignored;
ALTER TABLE repos DROP COLUMN setup;
