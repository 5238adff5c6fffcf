-- name: add
-- Adds an approval, pending or already decided.
INSERT INTO approvals (id, session_id, task_id, attempt, status, title, tool_kind, tool_call, options, option_id,
                       decision, decided_by, request_id, created_at, updated_at, decided_at, expires_at, on_expiry,
                       reason, key)
VALUES (:id, :session_id, :task_id, :attempt, :status, :title, :tool_kind, :tool_call, :options, :option_id,
        :decision, :decided_by, :request_id, :now, :now, :decided_at, :expires_at, :on_expiry, :reason, :key)
RETURNING *

-- name: get
-- Returns one approval.
SELECT * FROM approvals WHERE id = :id

-- name: page
-- Lists approvals, oldest first, because the oldest has waited longest.
SELECT * FROM approvals WHERE {where} ORDER BY created_at, id LIMIT :limit OFFSET :offset

-- name: count
-- Counts the approvals that match a filter.
SELECT count(*) FROM approvals WHERE {where}

-- name: decide
-- Decides a pending approval. The first answer wins.
UPDATE approvals SET status = :status, option_id = :option_id, decision = :decision, decided_by = :decided_by,
                     reason = :reason, answer = :answer, decided_at = :now, updated_at = :now
WHERE id = :id AND status = 'pending' RETURNING *

-- name: of_attempt
-- Lists the approvals of one attempt at a task in the order of their requests, all by the same agent process.
SELECT * FROM approvals WHERE task_id = :task_id AND attempt = :attempt AND tool_kind NOT IN :other_kinds
ORDER BY created_at, id

-- name: pending_of_task
-- Counts a turn's pending approvals, except those for which it does not wait itself.
SELECT count(*) FROM approvals WHERE task_id = :task_id AND status = 'pending' AND tool_kind NOT IN :other_kinds

-- name: pending_of_session
-- Counts a session's pending approvals.
SELECT count(*) FROM approvals WHERE session_id = :session_id AND status = 'pending'

-- name: pending_of_kind
-- Counts a session's pending approvals of one kind.
SELECT count(*) FROM approvals WHERE session_id = :session_id AND status = 'pending' AND tool_kind = :kind

-- name: for_people_below
-- Lists the approvals that only a person ends, of some sessions and all that were spawned below them, oldest first.
WITH RECURSIVE below (id) AS (
    SELECT id FROM sessions WHERE id IN :session_ids
    UNION SELECT s.id FROM sessions s JOIN below b ON s.parent_session_id = b.id
)
SELECT a.id, a.session_id, a.title FROM approvals a JOIN below b ON a.session_id = b.id
WHERE a.status = 'pending' AND a.expires_at IS NULL ORDER BY a.created_at, a.id LIMIT :limit

-- name: denied
-- Counts an attempt's approvals that were not allowed.
SELECT count(*) FROM approvals WHERE task_id = :task_id AND attempt = :attempt AND COALESCE(decision, 'deny') = 'deny'
    AND tool_kind NOT IN :other_kinds

-- name: of_key
-- Returns a turn's last approval about exactly this.
SELECT * FROM approvals WHERE task_id = :task_id AND key = :key ORDER BY created_at DESC, id DESC LIMIT 1

-- name: alike
-- Lists pending approvals of exactly the same tool use, oldest first.
SELECT * FROM approvals WHERE status = 'pending' AND key = :key ORDER BY created_at, id

-- name: due
-- Lists approvals that have expired, in the order in which they did.
SELECT * FROM approvals WHERE status = 'pending' AND expires_at IS NOT NULL AND expires_at <= :now
ORDER BY expires_at, id LIMIT :limit

-- name: next_expiry
-- Returns when the next approval expires, if any does.
SELECT min(expires_at) FROM approvals WHERE status = 'pending' AND expires_at IS NOT NULL

-- name: reschedule
-- Changes or clears the expiry of a session's pending approvals.
UPDATE approvals SET expires_at = :expires_at, updated_at = :now,
                     on_expiry = CASE WHEN tool_kind = :denied_kind THEN :denied_on_expiry ELSE :on_expiry END
WHERE session_id = :session_id AND status = 'pending' AND tool_kind NOT IN :held_turn_kinds
RETURNING *

-- name: last_sent
-- Returns the task whose prompt was sent last to a session's agent, except one.
SELECT * FROM tasks WHERE session_id = :session_id AND id <> :task_id AND sent_attempt > 0
ORDER BY started_at DESC, position DESC LIMIT 1

-- name: withdraw
-- Withdraws the pending approvals of a turn that ended, except those of Bough's own tools.
UPDATE approvals SET status = 'cancelled', decided_by = :decided_by, decided_at = :now, updated_at = :now
WHERE task_id = :task_id AND status = 'pending' AND tool_kind <> :call_kind RETURNING *

-- name: remove_of_session
-- Deletes the approvals of a session.
DELETE FROM approvals WHERE session_id = :session_id
