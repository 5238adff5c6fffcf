-- name: by_prefix
-- Ids of a table that begin with a short form, two at most times four so that an ambiguity can be listed.
SELECT id FROM {table} WHERE id >= :low AND id < :high ORDER BY id LIMIT 8

-- name: by_suffix
-- Ids of a table that end with a short form; the index on the last eight characters finds them.
SELECT id FROM {table} WHERE substr(id, 29) = :tail AND id LIKE :pattern ORDER BY id LIMIT 8

-- name: lock
-- Holds a named counter's row until the end of the transaction, so that what follows is done by one at a time.
UPDATE counters SET value = value + 1 WHERE name = :name

-- name: ping
-- Shows that the database answers.
SELECT 1
