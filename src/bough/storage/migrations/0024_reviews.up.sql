-- Comments of people on changes, plans and messages: drafts until they are sent as one prompt. A subject is a worktree,
-- session or task; `person` is the id of a user, empty for the owner.
CREATE TABLE review_comments (
    id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    author TEXT NOT NULL,
    subject_kind TEXT NOT NULL CHECK (subject_kind IN ('worktree', 'session', 'task')),
    subject_id TEXT NOT NULL,
    worktree_id TEXT REFERENCES worktrees (id) ON DELETE CASCADE,
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    -- What it is about: lines of a file on one side, with the file's new content at that time, or a message.
    path TEXT,
    side TEXT CHECK (side IN ('old', 'new')),
    start_line INTEGER,
    end_line INTEGER,
    object TEXT,
    message_id TEXT REFERENCES messages (id) ON DELETE CASCADE,
    message_kind TEXT,
    quote TEXT NOT NULL,
    body TEXT NOT NULL,
    -- The prompt that it was sent in.
    task_id TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    sent_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX review_comments_subject ON review_comments (subject_kind, subject_id, created_at);
CREATE INDEX review_comments_user ON review_comments (user_id);
CREATE INDEX review_comments_session ON review_comments (session_id);
CREATE INDEX review_comments_worktree ON review_comments (worktree_id);
CREATE INDEX review_comments_message ON review_comments (message_id);
CREATE INDEX review_comments_task ON review_comments (task_id);

-- The version of each file that a person has marked as viewed.
CREATE TABLE review_viewed (
    person TEXT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    subject_kind TEXT NOT NULL CHECK (subject_kind IN ('worktree', 'session', 'task')),
    subject_id TEXT NOT NULL,
    worktree_id TEXT REFERENCES worktrees (id) ON DELETE CASCADE,
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    hash TEXT NOT NULL,
    viewed_at TEXT NOT NULL,
    PRIMARY KEY (person, subject_kind, subject_id, path)
);
CREATE INDEX review_viewed_user ON review_viewed (user_id);
CREATE INDEX review_viewed_session ON review_viewed (session_id);
CREATE INDEX review_viewed_worktree ON review_viewed (worktree_id);
