-- name: decide_cleanup
-- Stores that a worktree is to be cleaned up, in place of an earlier attempt.
INSERT INTO worktree_cleanups (worktree_id, caller, request, answer, delete_branch, requested_at)
VALUES (:worktree_id, :caller, :request, :answer, :delete_branch, :now)
ON CONFLICT (worktree_id) DO UPDATE SET caller = excluded.caller, request = excluded.request, answer = excluded.answer,
    delete_branch = excluded.delete_branch, error = NULL, requested_at = excluded.requested_at
RETURNING *

-- name: undone_cleanups
-- Returns the cleanups that were begun and have not failed.
SELECT * FROM worktree_cleanups WHERE error IS NULL ORDER BY requested_at, worktree_id

-- name: fail_cleanup
-- Stores why a cleanup could not be completed.
UPDATE worktree_cleanups SET error = :error WHERE worktree_id = :worktree_id

-- name: forget_cleanup
-- Deletes a cleanup that is done or was refused.
DELETE FROM worktree_cleanups WHERE worktree_id = :worktree_id

-- name: cleanup_error
-- Returns why the last cleanup of a worktree could not be completed, if so.
SELECT error FROM worktree_cleanups WHERE worktree_id = :worktree_id
