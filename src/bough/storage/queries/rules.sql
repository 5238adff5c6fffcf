-- name: add
-- Makes a rule.
INSERT INTO rules (id, position, effect, agent, kind, tool, command, path, note, created_by, created_at, updated_at)
VALUES (:id, :position, :effect, :agent, :kind, :tool, :command, :path, :note, :created_by, :now, :now)
RETURNING *

-- name: get
-- One rule.
SELECT * FROM rules WHERE id = :id

-- name: all
-- Every rule, in the order in which they are tried.
SELECT * FROM rules ORDER BY position, id

-- name: page
-- Rules, in the order in which they are tried.
SELECT * FROM rules ORDER BY position, id LIMIT :limit OFFSET :offset

-- name: count
-- How many rules there are.
SELECT count(*) FROM rules

-- name: patch
-- Changes columns of a rule.
UPDATE rules SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: remove
-- Forgets a rule.
DELETE FROM rules WHERE id = :id

-- name: last_position
-- Where the last rule stands; nothing if there is none.
SELECT max(position) FROM rules
