-- The pull request of a worktree's branch as it was last read: its checks and review threads as JSON text.
CREATE TABLE pull_requests (
    worktree_id TEXT PRIMARY KEY REFERENCES worktrees (id) ON DELETE CASCADE,
    -- The server and project: agents can change the address of the remote afterwards.
    forge TEXT NOT NULL,
    host TEXT NOT NULL,
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    url TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'merged', 'closed')),
    head TEXT,
    checks TEXT NOT NULL DEFAULT '[]',
    threads TEXT NOT NULL DEFAULT '[]',
    -- Why it could not be read last time.
    error TEXT,
    -- Whether failures are sent to the session by themselves; null uses the server's setting.
    auto_send BOOLEAN,
    checked_at TEXT
);

-- The failed checks and review threads that were sent to a session, each once. `prompt` numbers the prompts of a pull
-- request; one may hold several of them.
CREATE TABLE check_prompts (
    worktree_id TEXT NOT NULL REFERENCES worktrees (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    item TEXT NOT NULL,
    head TEXT NOT NULL,
    prompt INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    sent_at TEXT NOT NULL,
    PRIMARY KEY (worktree_id, number, item)
);
