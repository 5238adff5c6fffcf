-- name: add
-- Stores the key of a browser that was signed in.
INSERT INTO page_keys (id, name, origin, key_hash, cookie_hash, created_at, last_used_at, expires_at, token_id)
VALUES (:id, :name, :origin, :key_hash, :cookie_hash, :now, :now, :expires_at, :token_id)

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

-- name: remove_of_token
-- Deletes the page keys that were created with a user's token.
DELETE FROM page_keys WHERE token_id = :token_id

-- name: remove_of_user
-- Deletes the page keys that were created with any token of a user.
DELETE FROM page_keys WHERE token_id IN (SELECT id FROM tokens WHERE user_id = :user_id)

-- name: remove_orphans
-- Deletes the page keys whose token no longer exists.
DELETE FROM page_keys WHERE token_id IS NOT NULL AND token_id NOT IN (SELECT id FROM tokens)
