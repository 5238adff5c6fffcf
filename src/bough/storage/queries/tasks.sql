-- name: add
-- Queues a prompt.
INSERT INTO tasks (id, session_id, position, prompt, source, source_session_id, status, attempt, sent_attempt,
                   held, tool_use_count, created_at, updated_at)
VALUES (:id, :session_id, :position, :prompt, :source, :source_session_id, 'queued', 0, 0, false, 0, :now, :now)
RETURNING *

-- name: get
-- Returns one task.
SELECT * FROM tasks WHERE id = :id

-- name: of_session
-- Lists a session's tasks in queue order.
SELECT * FROM tasks WHERE {where} ORDER BY position LIMIT :limit OFFSET :offset

-- name: count
-- Counts the tasks that match a filter.
SELECT count(*) FROM tasks WHERE {where}

-- name: newest
-- Lists tasks of all sessions, newest first.
SELECT * FROM tasks WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: waiting
-- Counts a session's queued prompts, with those on their way into the running turn, which may come back.
SELECT count(*) FROM tasks
WHERE session_id = :session_id AND ended_at IS NULL AND status IN ('queued', 'steering')

-- name: open
-- Lists a session's tasks that have not ended, in queue order.
SELECT * FROM tasks WHERE session_id = :session_id AND ended_at IS NULL ORDER BY position

-- name: running_mode
-- Returns the mode that a session's running turn was sent with; NULL if none is running, or if an older version sent it.
SELECT permission_mode FROM tasks WHERE session_id = :session_id AND ended_at IS NULL
  AND status IN ('running', 'waiting_permission', 'stopping')

-- name: newest_ids
-- Returns the ids of the newest tasks of some sessions, newest first.
SELECT n.session_id, n.id FROM (
    SELECT t.session_id, t.id, row_number() OVER (PARTITION BY t.session_id ORDER BY t.position DESC) AS place
    FROM tasks t WHERE t.session_id IN :ids
) n WHERE n.place <= :most ORDER BY n.session_id, n.place

-- name: claim
-- Claims the head of a session's queue if no turn of that session is running (Q1).
UPDATE tasks SET status = 'dispatching', attempt = attempt + 1, updated_at = :now, parked = NULL,
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
-- Lists sessions whose queue could advance: the head of each, and how many turns its tree is running.
SELECT s.id AS session_id, s.root_session_id, t.created_at, s.agent,
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
-- Moves a task to another status from one of the given ones.
UPDATE tasks SET status = :status, updated_at = :now WHERE id = :id AND status IN :origins RETURNING *

-- name: finish
-- Ends a task that has not ended.
UPDATE tasks SET status = :status, stop_reason = :stop_reason, error = :error, usage = :usage, cost = :cost,
                 git_after = :git_after, tool_use_count = :tool_use_count, ended_at = :now, updated_at = :now, parked = NULL
WHERE id = :id AND ended_at IS NULL RETURNING *

-- name: cancel_queued
-- Cancels a session's prompts that were not sent.
UPDATE tasks SET status = 'cancelled', stop_reason = :stop_reason, ended_at = :now, updated_at = :now, parked = NULL
WHERE session_id = :session_id AND ended_at IS NULL
  AND (status IN ('queued', 'interrupted') OR status = 'steering' AND attempt = 0) RETURNING *

-- name: under_way
-- Lists turns that were running when the last server stopped.
SELECT * FROM tasks WHERE ended_at IS NULL AND status IN ('dispatching', 'running', 'waiting_permission', 'stopping')

-- name: set_position
-- Moves a queued prompt within its queue.
UPDATE tasks SET position = :position, updated_at = :now WHERE id = :id

-- name: remove_of_session
-- Deletes a session's tasks.
DELETE FROM tasks WHERE session_id = :session_id

-- name: last_usage
-- Returns a session's token count at the end of its last turn that reported it.
SELECT usage FROM tasks WHERE session_id = :session_id AND id <> :task_id AND usage IS NOT NULL
ORDER BY ended_at DESC, position DESC LIMIT 1

-- name: steering
-- Lists the prompts that are on their way into a turn, in order.
SELECT * FROM tasks WHERE steers_task_id = :turn_id AND status = 'steering' ORDER BY position

-- name: steered
-- Lists the prompts that an agent has taken in the middle of a turn, in order.
SELECT * FROM tasks WHERE steers_task_id = :turn_id AND status = 'completed' AND stop_reason = :stop_reason
ORDER BY ended_at, position

-- name: to_steer
-- Lists the sessions with prompts that wait to be sent into the running turn.
SELECT DISTINCT session_id FROM tasks WHERE ended_at IS NULL AND status = 'steering' AND attempt = 0

-- name: nudges
-- Counts the prompts by which Bough nudged a turn.
SELECT count(*) FROM tasks WHERE steers_task_id = :turn_id AND nudge

-- name: steer_sent
-- Records that a prompt is about to be sent into the running turn.
UPDATE tasks SET attempt = 1, updated_at = :now WHERE id = :id AND status = 'steering' RETURNING *

-- name: steer_taken
-- Ends a prompt that the agent has taken in the middle of another one's turn.
UPDATE tasks SET status = 'completed', stop_reason = :stop_reason, ended_at = :now, updated_at = :now
WHERE id = :id AND ended_at IS NULL RETURNING *
