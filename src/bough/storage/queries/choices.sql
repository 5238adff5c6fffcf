-- name: add
-- Adds an "always" choice.
INSERT INTO choices (id, scope, session_id, cwd, agent, tool_kind, title, key, approval_id, decided_by, created_at)
VALUES (:id, :scope, :session_id, :cwd, :agent, :tool_kind, :title, :key, :approval_id, :decided_by, :now)
RETURNING *

-- name: get
-- Returns one remembered choice.
SELECT * FROM choices WHERE id = :id

-- name: page
-- Lists remembered choices, newest first.
SELECT * FROM choices WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- Counts the remembered choices that match a filter.
SELECT count(*) FROM choices WHERE {where}

-- name: remove
-- Deletes a choice.
DELETE FROM choices WHERE id = :id

-- name: matching
-- Lists the choices for exactly this tool use that apply to a session, oldest first.
SELECT * FROM choices
WHERE key = :key AND agent = :agent
  AND (scope = 'everywhere' OR (scope = 'session' AND session_id = :session_id)
       OR (scope = 'worktree' AND cwd = :cwd))
ORDER BY created_at, id

-- name: of_session
-- Lists the choices that apply to one session only, oldest first.
SELECT * FROM choices WHERE scope = 'session' AND session_id = :session_id ORDER BY created_at, id
