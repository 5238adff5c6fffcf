-- Worktrees: what a repository wants done in a new one, how far its making is, and where removed work is found again.
ALTER TABLE repos ADD COLUMN setup JSON NOT NULL DEFAULT '[]';
ALTER TABLE repos ADD COLUMN copy_ignored JSON NOT NULL DEFAULT '[]';
ALTER TABLE worktrees ADD COLUMN recovery_ref TEXT;
ALTER TABLE worktrees ADD COLUMN status TEXT NOT NULL DEFAULT 'ready';
ALTER TABLE worktrees ADD COLUMN branch_made BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE worktrees ADD COLUMN setup_error TEXT;
ALTER TABLE worktrees ADD COLUMN setup_output TEXT;
CREATE INDEX worktrees_status ON worktrees (status) WHERE status <> 'ready';
