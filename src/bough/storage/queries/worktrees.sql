-- name: get
-- One worktree.
SELECT * FROM worktrees WHERE id = :id
