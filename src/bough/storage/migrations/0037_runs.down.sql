DROP TABLE runs;
DROP INDEX worktrees_first_port;
ALTER TABLE worktrees DROP COLUMN first_port;
