-- A person's own shells. Each runs under a keeper in the data folder that has its id; the row goes when the shell ends.
CREATE TABLE terminals (
    id TEXT PRIMARY KEY,
    worktree_id TEXT REFERENCES worktrees (id) ON DELETE CASCADE,
    folder TEXT NOT NULL,
    opened_by TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX terminals_folder ON terminals (folder);
