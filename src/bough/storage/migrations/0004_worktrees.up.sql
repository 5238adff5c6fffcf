-- Worktrees: what a repository wants done in a new one, and where removed work can be found again.
ALTER TABLE repos ADD COLUMN setup JSON;
ALTER TABLE repos ADD COLUMN copy_ignored JSON;
ALTER TABLE worktrees ADD COLUMN recovery_ref TEXT;
