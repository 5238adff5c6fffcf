-- name: add
-- Asks a person.
INSERT INTO approvals (id, session_id, task_id, attempt, status, title, tool_kind, tool_call, options, request_id,
                       created_at, updated_at)
VALUES (:id, :session_id, :task_id, :attempt, 'pending', :title, :tool_kind, :tool_call, :options, :request_id,
        :now, :now)
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
                     decided_at = :now, updated_at = :now
WHERE id = :id AND status = 'pending' RETURNING *

-- name: of_attempt
-- All questions of one attempt at a task, in the order in which they were asked: no other agent ever asked them.
SELECT * FROM approvals WHERE task_id = :task_id AND attempt = :attempt AND tool_kind <> 'interrupted'
ORDER BY created_at, id

-- name: pending_of_task
-- How many questions of a turn are open.
SELECT count(*) FROM approvals WHERE task_id = :task_id AND status = 'pending'

-- name: denied
-- How many questions of one attempt were not allowed.
SELECT count(*) FROM approvals WHERE task_id = :task_id AND attempt = :attempt AND status <> 'allowed'

-- name: withdraw
-- Questions of a turn that ended are no longer asked.
UPDATE approvals SET status = 'cancelled', decided_by = :decided_by, decided_at = :now, updated_at = :now
WHERE task_id = :task_id AND status = 'pending' RETURNING *

-- name: remove_of_session
-- Removes the approvals of a session.
DELETE FROM approvals WHERE session_id = :session_id
