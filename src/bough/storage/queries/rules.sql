-- name: add
-- Adds a rule.
INSERT INTO rules (id, position, effect, agent, kind, tool, command, path, note, created_by, created_at, updated_at)
VALUES (:id, :position, :effect, :agent, :kind, :tool, :command, :path, :note, :created_by, :now, :now)
RETURNING *

-- name: get
-- Returns one rule.
SELECT * FROM rules WHERE id = :id

-- name: all
-- Returns every rule in the order in which they apply.
SELECT * FROM rules ORDER BY position, id

-- name: page
-- Lists rules in the order in which they apply.
SELECT * FROM rules ORDER BY position, id LIMIT :limit OFFSET :offset

-- name: count
-- Counts the rules.
SELECT count(*) FROM rules

-- name: patch
-- Changes columns of a rule.
UPDATE rules SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: remove
-- Deletes a rule.
DELETE FROM rules WHERE id = :id

-- name: last_position
-- Returns the last rule's position, if any.
SELECT max(position) FROM rules
