-- Policy: rules about uses of tools, choices that people want remembered, approvals that do not wait for ever.
CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    effect TEXT NOT NULL CHECK (effect IN ('allow', 'ask', 'deny')),
    agent TEXT,
    kind TEXT,
    tool TEXT,
    command TEXT,
    path TEXT,
    note TEXT NOT NULL,
    created_by JSON NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX rules_position ON rules (position, id);
CREATE INDEX rules_tail ON rules (substr(id, 29));

CREATE TABLE choices (
    id TEXT PRIMARY KEY,
    scope TEXT NOT NULL CHECK (scope IN ('session', 'worktree', 'everywhere')),
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    cwd TEXT,
    agent TEXT NOT NULL,
    tool_kind TEXT NOT NULL,
    title TEXT NOT NULL,
    key TEXT NOT NULL,
    approval_id TEXT,
    decided_by JSON NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX choices_key ON choices (key);
CREATE INDEX choices_session ON choices (session_id);
CREATE INDEX choices_created ON choices (created_at, id);
CREATE INDEX choices_tail ON choices (substr(id, 29));

-- What becomes of a question that nobody answers: its session's word, else the server's.
ALTER TABLE sessions ADD COLUMN headless TEXT;
-- Until when it waits, and what is answered then; null waits for ever.
ALTER TABLE approvals ADD COLUMN expires_at TEXT;
ALTER TABLE approvals ADD COLUMN on_expiry TEXT;
-- Why it was asked, or why it was answered without asking, in a sentence.
ALTER TABLE approvals ADD COLUMN reason TEXT;
-- By what exactly the use that it is about is known again when somebody says *always*.
ALTER TABLE approvals ADD COLUMN key TEXT;
-- What was said so far is kept in no table, and its keys are others now: it is asked once more.
UPDATE sessions SET allowed_tools = '[]';
CREATE INDEX approvals_expiry ON approvals (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
