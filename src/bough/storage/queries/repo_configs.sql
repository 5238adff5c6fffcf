-- name: decision
-- Returns whether a person has allowed a content of a repository's own files; nothing if nobody has decided.
SELECT allowed FROM repo_config_decisions WHERE repo_id = :repo_id AND digest = :digest

-- name: decide
-- Stores a decision in place of an earlier one.
INSERT INTO repo_config_decisions (repo_id, digest, allowed, decided_at) VALUES (:repo_id, :digest, :allowed, :now)
ON CONFLICT (repo_id, digest) DO UPDATE SET allowed = excluded.allowed, decided_at = excluded.decided_at
