-- The last merge of each worktree into a base branch, which can be undone. Agents can write refs of these commits.
CREATE TABLE worktree_merges (
    worktree_id TEXT PRIMARY KEY REFERENCES worktrees (id) ON DELETE CASCADE,
    branch TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    tip TEXT NOT NULL,
    merged_at TEXT NOT NULL
);
-- The commit that holds the files of a worktree removed by force. Agents can write the ref that keeps it.
ALTER TABLE worktrees ADD COLUMN recovery_sha TEXT;
