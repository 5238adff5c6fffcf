-- Trees: what children report, what is said aside, and how much a tree may use.

-- A child's report to its parent at the end of a task: how it travels, and which task of the parent carries it.
CREATE TABLE callbacks (
    id TEXT PRIMARY KEY,
    child_session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    child_task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id) ON DELETE CASCADE,
    parent_session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    parent_task_id TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'delivered', 'held')),
    reason TEXT,
    text TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX callbacks_parent ON callbacks (parent_session_id, created_at);
CREATE INDEX callbacks_child ON callbacks (child_session_id, created_at);
CREATE INDEX callbacks_task ON callbacks (parent_task_id);
CREATE INDEX callbacks_tail ON callbacks (substr(id, 29));

-- What an agent is told before its next prompt, besides that: answers to questions that were asked aside.
CREATE TABLE asides (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    from_session_id TEXT,
    text TEXT NOT NULL,
    told_task_id TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX asides_untold ON asides (session_id, created_at) WHERE told_task_id IS NULL;

-- A budget of a tree; amounts that are null are not bounded. What was used when it was set does not count.
CREATE TABLE trees (
    root_session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    max_tokens BIGINT,
    max_cost DOUBLE PRECISION,
    max_turns BIGINT,
    max_minutes DOUBLE PRECISION,
    base_tokens BIGINT NOT NULL,
    base_cost DOUBLE PRECISION NOT NULL,
    base_turns BIGINT NOT NULL,
    base_seconds DOUBLE PRECISION NOT NULL,
    -- When a person last said that the tree may go on by itself.
    attended_at TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

-- How deep a session stands in its tree, and what its turns have used.
ALTER TABLE sessions ADD COLUMN depth BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN turns BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN seconds DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN spent DOUBLE PRECISION NOT NULL DEFAULT 0;
CREATE INDEX sessions_tree ON sessions (root_session_id, created_at, id);
CREATE INDEX tasks_of_session ON tasks (session_id, started_at);
