-- Remote repositories that people copy into the workspace root. The copy grows in a hidden folder beside its target,
-- named by the id, until it is complete. Rows stay for a while after the end.
CREATE TABLE clones (
    id TEXT PRIMARY KEY,
    address TEXT NOT NULL,
    path TEXT NOT NULL,
    name TEXT,
    state TEXT NOT NULL CHECK (state IN ('cloning', 'done', 'failed', 'cancelled')),
    phase TEXT NOT NULL,
    percent INTEGER,
    received BIGINT,
    error TEXT,
    repo_id TEXT REFERENCES repos (id) ON DELETE SET NULL,
    started_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    ended_at TEXT
);
CREATE UNIQUE INDEX clones_path ON clones (path) WHERE state = 'cloning';
CREATE INDEX clones_repo ON clones (repo_id);
