-- name: add
-- Queues a prompt.
INSERT INTO tasks (id, session_id, position, prompt, source, source_session_id, status, attempt, sent_attempt,
                   held, tool_use_count, created_at, updated_at)
VALUES (:id, :session_id, :position, :prompt, :source, :source_session_id, 'queued', 0, 0, false, 0, :now, :now)
RETURNING *

-- name: get
-- One task.
SELECT * FROM tasks WHERE id = :id

-- name: of_session
-- Tasks of a session in queue order.
SELECT * FROM tasks WHERE {where} ORDER BY position LIMIT :limit OFFSET :offset

-- name: count
-- How many tasks a filter leaves.
SELECT count(*) FROM tasks WHERE {where}

-- name: newest
-- Tasks of all sessions, newest first.
SELECT * FROM tasks WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: waiting
-- How many prompts wait in a session.
SELECT count(*) FROM tasks WHERE session_id = :session_id AND ended_at IS NULL AND status = 'queued'

-- name: open
-- Tasks of a session that have not ended, in queue order.
SELECT * FROM tasks WHERE session_id = :session_id AND ended_at IS NULL ORDER BY position

-- name: claim
-- Takes the head of a session's queue if nothing of that session is under way (Q1).
UPDATE tasks SET status = 'dispatching', attempt = attempt + 1, updated_at = :now,
                 started_at = coalesce(started_at, :now)
WHERE id = (
    SELECT t.id FROM tasks t JOIN sessions s ON s.id = t.session_id
    WHERE t.session_id = :session_id AND t.ended_at IS NULL AND s.status = 'active'
      AND (t.status = 'interrupted' AND NOT t.held OR t.status = 'queued' AND NOT s.queue_paused)
      AND t.position = (SELECT min(h.position) FROM tasks h WHERE h.session_id = s.id AND h.ended_at IS NULL)
) AND NOT EXISTS (
    SELECT 1 FROM tasks o WHERE o.session_id = :session_id AND o.ended_at IS NULL
      AND o.status IN ('dispatching', 'running', 'waiting_permission', 'stopping')
) RETURNING *

-- name: runnable
-- Sessions whose queue could move: the head of each, and how many turns its tree has under way already.
SELECT s.id AS session_id, s.root_session_id, t.created_at,
       (SELECT count(*) FROM tasks u JOIN sessions r ON r.id = u.session_id
         WHERE r.root_session_id = s.root_session_id AND u.ended_at IS NULL
           AND u.status IN ('dispatching', 'running', 'stopping')) AS under_way
FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE t.ended_at IS NULL AND s.status = 'active'
  AND (t.status = 'interrupted' AND NOT t.held OR t.status = 'queued' AND NOT s.queue_paused)
  AND t.position = (SELECT min(h.position) FROM tasks h WHERE h.session_id = s.id AND h.ended_at IS NULL)

-- name: patch
-- Changes columns of a task.
UPDATE tasks SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: move
-- Moves a task to another state, from one of the states named.
UPDATE tasks SET status = :status, updated_at = :now WHERE id = :id AND status IN :origins RETURNING *

-- name: finish
-- Ends a task; what has ended stays as it is.
UPDATE tasks SET status = :status, stop_reason = :stop_reason, error = :error, usage = :usage, cost = :cost,
                 git_after = :git_after, tool_use_count = :tool_use_count, ended_at = :now, updated_at = :now
WHERE id = :id AND ended_at IS NULL RETURNING *

-- name: cancel_queued
-- Cancels every prompt of a session that still waits.
UPDATE tasks SET status = 'cancelled', stop_reason = :stop_reason, ended_at = :now, updated_at = :now
WHERE session_id = :session_id AND ended_at IS NULL AND status IN ('queued', 'interrupted') RETURNING *

-- name: under_way
-- Turns that were under way when the last server ended.
SELECT * FROM tasks WHERE ended_at IS NULL AND status IN ('dispatching', 'running', 'waiting_permission', 'stopping')

-- name: set_position
-- Puts a queued prompt elsewhere in its queue.
UPDATE tasks SET position = :position, updated_at = :now WHERE id = :id

-- name: remove_of_session
-- Removes the tasks of a session.
DELETE FROM tasks WHERE session_id = :session_id

-- name: last_usage
-- What the tokens of a session were at the end of its last turn that told them.
SELECT usage FROM tasks WHERE session_id = :session_id AND id <> :task_id AND usage IS NOT NULL
ORDER BY ended_at DESC, position DESC LIMIT 1
