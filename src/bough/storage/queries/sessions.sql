-- name: add
-- Adds a session.
INSERT INTO sessions (
    id, repo_id, worktree_id, cwd, agent, title, description, status, activity, permission_mode, allowed_tools,
    model, effort, mcp_server_ids, env, context_files, callback, kind, parent_session_id, forked_from_session_id,
    root_session_id, branch_task_id, created_by, git_state, message_count, queue_paused, archived,
    headless, approval_timeout, resume_after_limit, depth, race_id, race_number, sandbox, sandbox_profile,
    preset_id, preset, config_options, created_at, updated_at, active_at
) VALUES (
    :id, :repo_id, :worktree_id, :cwd, :agent, :title, :description, 'active', 'not_started', :permission_mode,
    :allowed_tools, :model, :effort, :mcp_server_ids, :env, :context_files, :callback, :kind, :parent_session_id,
    :forked_from_session_id, :root_session_id, :branch_task_id, :created_by, :git_state, 0, FALSE, FALSE,
    :headless, :approval_timeout, :resume_after_limit, :depth, :race_id, :race_number, :sandbox, :sandbox_profile,
    :preset_id, :preset, :config_options, :now, :now, :now
) RETURNING *

-- name: add_private
-- Stores a session's private values.
INSERT INTO session_private (session_id, env, env_trusted, instructions, next_position, next_task, agent_session_id)
VALUES (:id, :env, :env_trusted, :instructions, 1, 1, NULL)

-- name: get
-- Returns one session.
SELECT * FROM sessions WHERE id = :id

-- name: page
-- Lists sessions, newest first.
SELECT * FROM sessions WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- Counts the sessions that match a filter.
SELECT count(*) FROM sessions WHERE {where}

-- name: active_roots
-- Counts active root sessions (T5).
SELECT count(*) FROM sessions WHERE status = 'active' AND kind = 'root'

-- name: active_total
-- Counts active sessions.
SELECT count(*) FROM sessions WHERE status = 'active'

-- name: active_of_agent
-- Counts the active sessions of an agent.
SELECT count(*) FROM sessions WHERE status = 'active' AND agent = :agent

-- name: children
-- Counts a session's descendants.
SELECT count(*) FROM sessions WHERE parent_session_id = :id OR forked_from_session_id = :id

-- name: offspring
-- Lists the direct children and forks of some sessions in creation order. `IS NULL` would make the index of parents
-- scan all roots.
SELECT id, COALESCE(parent_session_id, forked_from_session_id) AS source FROM sessions
WHERE parent_session_id IN :ids OR (forked_from_session_id IN :ids AND COALESCE(parent_session_id, '') = '')
ORDER BY id

-- name: ids_of_tree
-- Returns the ids of all sessions of a tree.
SELECT id FROM sessions WHERE root_session_id = :root

-- name: patch
-- Changes columns of a session.
UPDATE sessions SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: touch
-- Adds to the message count and resets the idle clock.
UPDATE sessions SET message_count = message_count + :added, updated_at = :now, active_at = :now WHERE id = :id

-- name: private
-- Returns a session's private values.
SELECT env, agent_session_id, instructions FROM session_private WHERE session_id = :id

-- name: env
-- Returns a session's environment values.
SELECT env FROM session_private WHERE session_id = :id

-- name: instructions
-- Returns the instructions of a session's preset.
SELECT instructions FROM session_private WHERE session_id = :id

-- name: env_trusted
-- Returns whether an admin has set a session's environment values.
SELECT env_trusted FROM session_private WHERE session_id = :id

-- name: secrets
-- Returns where the secret values of some sessions are: their environment, their MCP servers, what their agents were
-- started with, and what they had before. Sessions without any are left out.
SELECT s.id, p.env, s.mcp_server_ids, k.secrets, p.past_secrets
FROM sessions s JOIN session_private p ON p.session_id = s.id LEFT JOIN keepers k ON k.session_id = s.id
WHERE s.id IN :ids AND (
    CAST(p.env AS TEXT) <> '{}' OR CAST(s.mcp_server_ids AS TEXT) <> '[]' OR CAST(p.past_secrets AS TEXT) <> '[]'
    OR CAST(k.secrets AS TEXT) <> '[]'
)

-- name: grow
-- Adds to the size of a session's transcript.
UPDATE session_private SET transcript_bytes = transcript_bytes + :size WHERE session_id = :id
RETURNING transcript_bytes, transcript_limit

-- name: transcript_size
-- Returns the size of a session's transcript, and its own limit.
SELECT transcript_bytes, transcript_limit FROM session_private WHERE session_id = :id

-- name: limit_transcript
-- Sets the limit of a session's transcript.
UPDATE session_private SET transcript_limit = :limit WHERE session_id = :id

-- name: past_secrets
-- Returns the secret values that a session had before.
SELECT past_secrets FROM session_private WHERE session_id = :id

-- name: set_past_secrets
-- Replaces the secret values that a session had before.
UPDATE session_private SET past_secrets = :secrets WHERE session_id = :id

-- name: set_env
-- Replaces a session's environment values.
UPDATE session_private SET env = :env, env_trusted = :trusted WHERE session_id = :id

-- name: agent_session
-- Returns the agent's own id of a conversation.
SELECT agent_session_id FROM session_private WHERE session_id = :id

-- name: set_agent_session
-- Stores the agent's own id of a conversation.
UPDATE session_private SET agent_session_id = :agent_session_id WHERE session_id = :id

-- name: take_positions
-- Reserves positions in the transcript; the first reserved one is the result minus the count.
UPDATE session_private SET next_position = next_position + :count WHERE session_id = :id RETURNING next_position

-- name: take_task_position
-- Reserves a position at the end of the queue.
UPDATE session_private SET next_task = next_task + 1 WHERE session_id = :id RETURNING next_task

-- name: idle
-- Lists active sessions whose idle time is over (T4): nothing is running, queued or waiting for approval in them or below them.
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

-- name: longest_idle_root
-- Returns the root that has been idle longest (T5): nothing is running, queued or waiting for approval in it or below it.
SELECT s.* FROM sessions s
WHERE s.status = 'active' AND s.kind = 'root' AND s.activity IN ('idle', 'not_started')
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
ORDER BY s.active_at, s.id LIMIT 1

-- name: remove_private
-- Deletes a session's private values.
DELETE FROM session_private WHERE session_id = :id

-- name: remove
-- Deletes a session.
DELETE FROM sessions WHERE id = :id

-- name: ended
-- Returns those of some sessions that have ended.
SELECT id FROM sessions WHERE id IN :ids AND status <> 'active'
