-- name: add
-- Remembers that a person said *always*.
INSERT INTO choices (id, scope, session_id, cwd, agent, tool_kind, title, key, approval_id, decided_by, created_at)
VALUES (:id, :scope, :session_id, :cwd, :agent, :tool_kind, :title, :key, :approval_id, :decided_by, :now)
RETURNING *

-- name: get
-- One remembered choice.
SELECT * FROM choices WHERE id = :id

-- name: page
-- Remembered choices, newest first.
SELECT * FROM choices WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- How many remembered choices a filter leaves.
SELECT count(*) FROM choices WHERE {where}

-- name: remove
-- Forgets a choice.
DELETE FROM choices WHERE id = :id

-- name: matching
-- What was said to exactly this use of a tool and reaches this session, oldest first.
SELECT * FROM choices
WHERE key = :key AND agent = :agent
  AND (scope = 'everywhere' OR (scope = 'session' AND session_id = :session_id)
       OR (scope = 'worktree' AND cwd = :cwd))
ORDER BY created_at, id

-- name: of_session
-- What was said for one session alone, oldest first.
SELECT * FROM choices WHERE scope = 'session' AND session_id = :session_id ORDER BY created_at, id
