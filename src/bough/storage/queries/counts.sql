-- name: sessions
-- How many sessions there are in each status.
SELECT status AS state, count(*) AS total FROM sessions GROUP BY status

-- name: open_tasks
-- How many tasks that have not ended there are in each status.
SELECT status AS state, count(*) AS total FROM tasks WHERE ended_at IS NULL GROUP BY status

-- name: pending_approvals
-- How many questions wait for a person.
SELECT count(*) FROM approvals WHERE status = 'pending'
