-- name: claim
-- Claims a key; affects no row if it is already claimed.
INSERT INTO idempotency (key, scope, fingerprint, answer, created_at)
VALUES (:key, :scope, :fingerprint, NULL, :now) ON CONFLICT (scope, key) DO NOTHING

-- name: find
-- Returns the answer stored for a key.
SELECT fingerprint, answer FROM idempotency WHERE scope = :scope AND key = :key

-- name: answer
-- Stores the answer, in the transaction that acted.
UPDATE idempotency SET answer = :answer WHERE scope = :scope AND key = :key

-- name: prune
-- Deletes keys older than a time, except those of one scope.
DELETE FROM idempotency WHERE created_at < :before AND scope <> :kept_scope

-- name: forget
-- Releases the key of a request that failed.
DELETE FROM idempotency WHERE scope = :scope AND key = :key

-- name: in_scope
-- Lists the keys of one scope, oldest first.
SELECT key, answer FROM idempotency WHERE scope = :scope ORDER BY created_at, key
