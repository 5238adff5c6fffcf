-- name: add
-- Makes a board.
INSERT INTO boards (id, name, is_default, created_at, updated_at)
VALUES (:id, :name, :is_default, :now, :now) ON CONFLICT (name) DO NOTHING RETURNING *

-- name: get
-- One board.
SELECT * FROM boards WHERE id = :id

-- name: page
-- Boards, the default one first.
SELECT * FROM boards ORDER BY is_default DESC, created_at, id LIMIT :limit OFFSET :offset

-- name: count
-- How many boards there are.
SELECT count(*) FROM boards

-- name: rename
-- Gives a board another name.
UPDATE boards SET name = :name, updated_at = :now WHERE id = :id RETURNING *

-- name: named
-- The board of a name.
SELECT * FROM boards WHERE name = :name

-- name: uses
-- How many cards lie on a board: worktrees, and own folders of repositories.
SELECT (SELECT count(*) FROM worktrees WHERE board_id = :id) + (SELECT count(*) FROM repos WHERE board_id = :id)

-- name: default
-- The board on which everything lies that was put on no other.
SELECT * FROM boards WHERE is_default ORDER BY created_at, id LIMIT 1

-- name: remove
-- Removes a board.
DELETE FROM boards WHERE id = :id
