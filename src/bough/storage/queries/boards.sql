-- name: add
-- Adds a board.
INSERT INTO boards (id, name, is_default, created_at, updated_at)
VALUES (:id, :name, :is_default, :now, :now) ON CONFLICT (name) DO NOTHING RETURNING *

-- name: get
-- Returns one board.
SELECT * FROM boards WHERE id = :id

-- name: page
-- Lists boards, the default one first.
SELECT * FROM boards ORDER BY is_default DESC, created_at, id LIMIT :limit OFFSET :offset

-- name: count
-- Counts the boards.
SELECT count(*) FROM boards

-- name: rename
-- Renames a board.
UPDATE boards SET name = :name, updated_at = :now WHERE id = :id RETURNING *

-- name: named
-- Returns the board with a name.
SELECT * FROM boards WHERE name = :name

-- name: uses
-- Counts a board's cards: worktrees and repositories' own folders.
SELECT (SELECT count(*) FROM worktrees WHERE board_id = :id) + (SELECT count(*) FROM repos WHERE board_id = :id)

-- name: default
-- Returns the default board.
SELECT * FROM boards WHERE is_default ORDER BY created_at, id LIMIT 1

-- name: remove
-- Deletes a board.
DELETE FROM boards WHERE id = :id
