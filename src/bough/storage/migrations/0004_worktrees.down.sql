DROP INDEX worktrees_status;
ALTER TABLE worktrees DROP COLUMN setup_output;
ALTER TABLE worktrees DROP COLUMN setup_error;
ALTER TABLE worktrees DROP COLUMN branch_made;
ALTER TABLE worktrees DROP COLUMN status;
ALTER TABLE worktrees DROP COLUMN recovery_ref;
ALTER TABLE repos DROP COLUMN copy_ignored;
ALTER TABLE repos DROP COLUMN setup;
