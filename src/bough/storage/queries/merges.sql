-- name: find
-- Returns the last merge of a worktree that was noted, whether it took place or not.
SELECT branch, before, after, tip FROM worktree_merges WHERE worktree_id = :worktree_id

-- name: note
-- Notes a merge of a worktree, in place of an earlier one.
INSERT INTO worktree_merges (worktree_id, branch, before, after, tip, merged_at)
VALUES (:worktree_id, :branch, :before, :after, :tip, :now)
ON CONFLICT (worktree_id) DO UPDATE SET branch = excluded.branch, before = excluded.before, after = excluded.after,
    tip = excluded.tip, merged_at = excluded.merged_at

-- name: forget
-- Deletes the merge of a worktree.
DELETE FROM worktree_merges WHERE worktree_id = :worktree_id
