-- Cleanups of worktrees that were decided and are not done. The next start completes them, or stores why it cannot.
CREATE TABLE worktree_cleanups (
    worktree_id TEXT PRIMARY KEY REFERENCES worktrees (id) ON DELETE CASCADE,
    -- Who asked for what, and the answer, as JSON text that only the server reads.
    caller TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    delete_branch BOOLEAN NOT NULL,
    error TEXT,
    requested_at TEXT NOT NULL
);
