-- name: add
-- Adds a terminal.
INSERT INTO terminals (id, worktree_id, folder, opened_by, created_at)
VALUES (:id, :worktree_id, :folder, :opened_by, :now)
RETURNING *

-- name: get
-- Returns one terminal.
SELECT * FROM terminals WHERE id = :id

-- name: all
-- Lists all terminals, oldest first.
SELECT * FROM terminals ORDER BY id

-- name: in_folder
-- Lists the terminals of one folder, oldest first.
SELECT * FROM terminals WHERE folder = :folder ORDER BY id

-- name: of_worktree
-- Lists the terminals that end with a worktree.
SELECT * FROM terminals WHERE worktree_id = :worktree_id ORDER BY id

-- name: of_removed_worktrees
-- Lists the terminals of worktrees that are gone.
SELECT terminals.* FROM terminals JOIN worktrees ON worktrees.id = terminals.worktree_id
WHERE worktrees.removed_at IS NOT NULL

-- name: count
-- Counts the terminals.
SELECT count(*) FROM terminals

-- name: remove
-- Deletes a terminal; returns nothing if it is gone already.
DELETE FROM terminals WHERE id = :id RETURNING *
