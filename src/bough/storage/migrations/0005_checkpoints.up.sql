-- Checkpoints: the exact state of a folder's files at one moment, kept as a commit on a hidden ref.
CREATE TABLE checkpoints (
    id TEXT PRIMARY KEY,
    repo_id TEXT NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
    worktree_id TEXT REFERENCES worktrees (id) ON DELETE CASCADE,
    session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    task_id TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    cwd TEXT NOT NULL,
    moment TEXT NOT NULL CHECK (moment IN ('before', 'after', 'restore', 'fork')),
    -- The commit, its tree, and what HEAD was; no commit says why in `note`.
    sha TEXT,
    tree TEXT,
    head TEXT,
    branch TEXT,
    note TEXT,
    -- What holds the commit; several moments of a task may share it.
    ref TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX checkpoints_task ON checkpoints (task_id);
CREATE INDEX checkpoints_session ON checkpoints (session_id);
CREATE INDEX checkpoints_cwd ON checkpoints (cwd, created_at);
CREATE INDEX checkpoints_created ON checkpoints (created_at);
CREATE INDEX checkpoints_tail ON checkpoints (substr(id, 29));

-- Tasks of other sessions that ran in the same folder at the same time.
CREATE TABLE task_overlaps (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    other_task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (task_id, other_task_id)
);
CREATE INDEX task_overlaps_other ON task_overlaps (other_task_id);
