-- name: claim
-- Takes a key; no row is affected if somebody has it already.
INSERT INTO idempotency (key, scope, fingerprint, answer, created_at)
VALUES (:key, :scope, :fingerprint, NULL, :now) ON CONFLICT (scope, key) DO NOTHING

-- name: find
-- What was answered to a key.
SELECT fingerprint, answer FROM idempotency WHERE scope = :scope AND key = :key

-- name: answer
-- Keeps the answer, in the transaction that acted.
UPDATE idempotency SET answer = :answer WHERE scope = :scope AND key = :key

-- name: prune
-- Forgets keys older than a moment.
DELETE FROM idempotency WHERE created_at < :before

-- name: forget
-- Lets go of a key whose request came to nothing after all.
DELETE FROM idempotency WHERE scope = :scope AND key = :key

-- name: in_scope
-- All keys of one scope, oldest first.
SELECT key, answer FROM idempotency WHERE scope = :scope ORDER BY created_at, key
