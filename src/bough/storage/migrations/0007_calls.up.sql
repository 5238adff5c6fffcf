-- Calls of Bough's own tools: each is written down before it acts, so that nothing is done twice and nothing is lost.
CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    -- Whose keys these are: a session's id, or `person`.
    caller TEXT NOT NULL,
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    -- The turn in which it was made.
    task_id TEXT,
    tool TEXT NOT NULL,
    arguments JSON NOT NULL,
    fingerprint TEXT NOT NULL,
    key TEXT,
    state TEXT NOT NULL CHECK (state IN ('asked', 'acting', 'done', 'failed', 'denied')),
    -- What it is to do, in a sentence, and whether that is more than its caller may by itself.
    title TEXT NOT NULL,
    raises BOOLEAN NOT NULL,
    -- A person has allowed exactly this.
    granted BOOLEAN NOT NULL,
    approval_id TEXT,
    outcome JSON,
    -- When the caller was given a handle instead of the outcome, when it was given the outcome, and by which task if later.
    handed_at TEXT,
    answered_at TEXT,
    told_task_id TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX calls_key ON calls (caller, tool, key) WHERE key IS NOT NULL;
CREATE INDEX calls_unanswered ON calls (caller, fingerprint) WHERE answered_at IS NULL;
CREATE INDEX calls_approval ON calls (approval_id) WHERE approval_id IS NOT NULL;
CREATE INDEX calls_open ON calls (state) WHERE state IN ('asked', 'acting');
CREATE INDEX calls_session ON calls (session_id, created_at);
CREATE INDEX calls_created ON calls (created_at);
CREATE INDEX calls_tail ON calls (substr(id, 29));

-- By what the agent that a keeper holds is known when it calls.
ALTER TABLE keepers ADD COLUMN token_hash TEXT;

-- Trees that a session of another tree has opened: they are within its reach.
CREATE TABLE tree_makers (
    root_session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    maker_session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    maker_root_id TEXT NOT NULL
);
CREATE INDEX tree_makers_root ON tree_makers (maker_root_id);
