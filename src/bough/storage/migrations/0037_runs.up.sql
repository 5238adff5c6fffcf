-- The first port of a worktree's own block. Removal frees it, so that no two worktrees that exist share a port.
ALTER TABLE worktrees ADD COLUMN first_port INTEGER;
CREATE UNIQUE INDEX worktrees_first_port ON worktrees (first_port) WHERE removed_at IS NULL;

-- Commands that people started in worktrees, such as development servers. Each runs under a keeper in the data folder
-- that has its id. The row and the log stay for a while after the end.
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    worktree_id TEXT NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    name TEXT,
    command TEXT NOT NULL,
    port INTEGER,
    confined BOOLEAN NOT NULL,
    started_by TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'exited', 'stopped', 'lost')),
    code INTEGER,
    answers BOOLEAN NOT NULL DEFAULT FALSE,
    created_at TEXT NOT NULL,
    ended_at TEXT
);
CREATE INDEX runs_worktree ON runs (worktree_id);
