-- name: add
-- Opens a session.
INSERT INTO sessions (
    id, repo_id, worktree_id, cwd, agent, title, description, status, activity, permission_mode, allowed_tools,
    model, effort, mcp_server_ids, env, context_files, callback, kind, parent_session_id, forked_from_session_id,
    root_session_id, branch_task_id, created_by, git_state, message_count, queue_paused, archived,
    headless, depth, race_id, race_number, created_at, updated_at, active_at
) VALUES (
    :id, :repo_id, :worktree_id, :cwd, :agent, :title, :description, 'active', 'not_started', :permission_mode,
    :allowed_tools, :model, :effort, :mcp_server_ids, :env, :context_files, :callback, :kind, :parent_session_id,
    :forked_from_session_id, :root_session_id, :branch_task_id, :created_by, :git_state, 0, FALSE, FALSE,
    :headless, :depth, :race_id, :race_number, :now, :now, :now
) RETURNING *

-- name: add_private
-- Keeps what of a session nobody is shown.
INSERT INTO session_private (session_id, env, next_position, next_task, agent_session_id)
VALUES (:id, :env, 1, 1, NULL)

-- name: get
-- One session.
SELECT * FROM sessions WHERE id = :id

-- name: page
-- Sessions, newest first.
SELECT * FROM sessions WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- How many sessions a filter leaves.
SELECT count(*) FROM sessions WHERE {where}

-- name: active_roots
-- How many root sessions are active (T5).
SELECT count(*) FROM sessions WHERE status = 'active' AND kind = 'root'

-- name: active_total
-- How many sessions are active at all.
SELECT count(*) FROM sessions WHERE status = 'active'

-- name: children
-- How many sessions hang below one.
SELECT count(*) FROM sessions WHERE parent_session_id = :id OR forked_from_session_id = :id

-- name: offspring
-- The sessions that hang directly below some, in the order in which they were made. Not IS NULL: all roots would be
-- looked at by the index of parents.
SELECT id, COALESCE(parent_session_id, forked_from_session_id) AS source FROM sessions
WHERE parent_session_id IN :ids OR (forked_from_session_id IN :ids AND COALESCE(parent_session_id, '') = '')
ORDER BY id

-- name: ids_of_tree
-- All sessions of a tree, by their ids.
SELECT id FROM sessions WHERE root_session_id = :root

-- name: patch
-- Changes columns of a session.
UPDATE sessions SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: touch
-- Counts new messages and sets the idle clock back.
UPDATE sessions SET message_count = message_count + :added, updated_at = :now, active_at = :now WHERE id = :id

-- name: private
-- What of a session nobody is shown.
SELECT env, agent_session_id FROM session_private WHERE session_id = :id

-- name: env
-- The values of a session's environment.
SELECT env FROM session_private WHERE session_id = :id

-- name: set_env
-- Replaces the values of a session's environment.
UPDATE session_private SET env = :env WHERE session_id = :id

-- name: agent_session
-- The agent's own id for a conversation.
SELECT agent_session_id FROM session_private WHERE session_id = :id

-- name: set_agent_session
-- Remembers the agent's own id for this conversation.
UPDATE session_private SET agent_session_id = :agent_session_id WHERE session_id = :id

-- name: take_positions
-- Reserves positions in the transcript; the first one reserved is the answer less the count.
UPDATE session_private SET next_position = next_position + :count WHERE session_id = :id RETURNING next_position

-- name: take_task_position
-- Reserves a place at the end of the queue.
UPDATE session_private SET next_task = next_task + 1 WHERE session_id = :id RETURNING next_task

-- name: idle
-- Active sessions whose idle clock has run out (T4): nothing runs, waits, is queued or asked, in them or below them.
SELECT s.* FROM sessions s
WHERE s.status = 'active' AND s.activity IN ('idle', 'not_started') AND s.active_at < :before
  AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.session_id = s.id AND t.ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.session_id = s.id AND a.status = 'pending')
  AND NOT EXISTS (
    WITH RECURSIVE below (id) AS (
        SELECT c.id FROM sessions c WHERE c.parent_session_id = s.id OR c.forked_from_session_id = s.id
        UNION
        SELECT c.id FROM sessions c JOIN below b ON c.parent_session_id = b.id OR c.forked_from_session_id = b.id
    )
    SELECT 1 FROM below b JOIN tasks t ON t.session_id = b.id WHERE t.ended_at IS NULL
  )
ORDER BY s.active_at LIMIT :limit

-- name: remove_private
-- Forgets what nobody was shown.
DELETE FROM session_private WHERE session_id = :id

-- name: remove
-- Removes a session for good.
DELETE FROM sessions WHERE id = :id
