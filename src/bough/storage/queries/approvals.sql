-- name: add
-- Asks a person, or writes down what was answered without one.
INSERT INTO approvals (id, session_id, task_id, attempt, status, title, tool_kind, tool_call, options, option_id,
                       decision, decided_by, request_id, created_at, updated_at, decided_at, expires_at, on_expiry,
                       reason, key)
VALUES (:id, :session_id, :task_id, :attempt, :status, :title, :tool_kind, :tool_call, :options, :option_id,
        :decision, :decided_by, :request_id, :now, :now, :decided_at, :expires_at, :on_expiry, :reason, :key)
RETURNING *

-- name: get
-- One approval.
SELECT * FROM approvals WHERE id = :id

-- name: page
-- Approvals, oldest first, since the oldest has waited longest.
SELECT * FROM approvals WHERE {where} ORDER BY created_at, id LIMIT :limit OFFSET :offset

-- name: count
-- How many approvals a filter leaves.
SELECT count(*) FROM approvals WHERE {where}

-- name: decide
-- The first answer wins: only a pending approval changes.
UPDATE approvals SET status = :status, option_id = :option_id, decision = :decision, decided_by = :decided_by,
                     reason = :reason, decided_at = :now, updated_at = :now
WHERE id = :id AND status = 'pending' RETURNING *

-- name: of_attempt
-- All questions of one attempt at a task, in the order in which they were asked: no other agent ever asked them.
SELECT * FROM approvals WHERE task_id = :task_id AND attempt = :attempt AND tool_kind NOT IN ('interrupted', 'trust', 'limit', 'call')
ORDER BY created_at, id

-- name: pending_of_task
-- How many questions of a turn are open; its calls of Bough's tools may outlive it.
SELECT count(*) FROM approvals WHERE task_id = :task_id AND status = 'pending' AND tool_kind <> 'call'

-- name: denied
-- How many questions of one attempt were not allowed.
SELECT count(*) FROM approvals WHERE task_id = :task_id AND attempt = :attempt AND COALESCE(decision, 'deny') = 'deny'
    AND tool_kind <> 'call'

-- name: alike
-- Open questions about exactly the same use of a tool, oldest first.
SELECT * FROM approvals WHERE status = 'pending' AND key = :key ORDER BY created_at, id

-- name: due
-- Questions whose time is over, in the order in which it was.
SELECT * FROM approvals WHERE status = 'pending' AND expires_at IS NOT NULL AND expires_at <= :now
ORDER BY expires_at, id LIMIT :limit

-- name: next_expiry
-- When the next question's time is over; nothing if none waits for a time only.
SELECT min(expires_at) FROM approvals WHERE status = 'pending' AND expires_at IS NOT NULL

-- name: reschedule
-- Gives the open questions of a session's agent another time, or takes theirs away.
UPDATE approvals SET expires_at = :expires_at, on_expiry = :on_expiry, updated_at = :now
WHERE session_id = :session_id AND status = 'pending' AND tool_kind NOT IN ('interrupted', 'trust', 'limit')
RETURNING *

-- name: last_sent
-- The task whose prompt a session's agent was sent last, but for one.
SELECT * FROM tasks WHERE session_id = :session_id AND id <> :task_id AND sent_attempt > 0
ORDER BY started_at DESC, position DESC LIMIT 1

-- name: withdraw
-- Questions of a turn that ended are no longer asked; its calls of Bough's tools are.
UPDATE approvals SET status = 'cancelled', decided_by = :decided_by, decided_at = :now, updated_at = :now
WHERE task_id = :task_id AND status = 'pending' AND tool_kind <> 'call' RETURNING *

-- name: remove_of_session
-- Removes the approvals of a session.
DELETE FROM approvals WHERE session_id = :session_id
