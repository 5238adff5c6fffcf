-- name: add
-- Stores the key of a browser that was signed in.
INSERT INTO page_keys (id, name, origin, key_hash, cookie_hash, created_at, last_used_at, expires_at)
VALUES (:id, :name, :origin, :key_hash, :cookie_hash, :now, :now, :expires_at)

-- name: list
-- Lists all page keys with their hashes, oldest first.
SELECT * FROM page_keys ORDER BY id

-- name: used
-- Records when a page key was last used.
UPDATE page_keys SET last_used_at = :at WHERE id = :id

-- name: remove
-- Deletes a page key.
DELETE FROM page_keys WHERE id = :id

-- name: remove_expired
-- Deletes the page keys that have expired.
DELETE FROM page_keys WHERE expires_at <= :now
