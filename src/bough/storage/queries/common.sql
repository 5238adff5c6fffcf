-- name: by_prefix
-- Returns up to eight ids that start with a short form, so that an ambiguity can be listed.
SELECT id FROM {table} WHERE id >= :low AND id < :high ORDER BY id LIMIT 8

-- name: by_suffix
-- Returns ids that end with a short form, by the index on the last eight characters.
SELECT id FROM {table} WHERE substr(id, 29) = :tail AND id LIKE :pattern ORDER BY id LIMIT 8

-- name: lock
-- Locks a named counter's row until the end of the transaction, so that what follows is serialized.
UPDATE counters SET value = value + 1 WHERE name = :name

-- name: ping
-- Checks that the database answers.
SELECT 1
