-- name: add
-- Stores a user's token by its hash.
INSERT INTO tokens (id, user_id, name, scope, token_hash, created_at, last_used_at, expires_at)
VALUES (:id, :user_id, :name, :scope, :token_hash, :now, NULL, :expires_at)

-- name: list
-- Lists all tokens with their hashes, oldest first.
SELECT * FROM tokens ORDER BY id

-- name: get
-- Returns a token that has not expired.
SELECT id, user_id, name, scope, created_at, last_used_at, expires_at FROM tokens
WHERE id = :id AND (expires_at IS NULL OR expires_at > :now)

-- name: used
-- Records when a token was last used.
UPDATE tokens SET last_used_at = :at WHERE id = :id

-- name: replace
-- Replaces the hash of a token, whose old value then opens nothing. Changes nothing if it has been replaced.
UPDATE tokens SET token_hash = :token_hash, created_at = :now, last_used_at = NULL, expires_at = :expires_at
WHERE id = :id AND token_hash = :replaced

-- name: has_hash
-- Returns the id of a token if it has this hash.
SELECT id FROM tokens WHERE id = :id AND token_hash = :token_hash

-- name: remove
-- Deletes a token.
DELETE FROM tokens WHERE id = :id

-- name: remove_expired
-- Deletes the tokens that have expired.
DELETE FROM tokens WHERE expires_at <= :now
