-- name: sessions
-- Counts sessions by status.
SELECT status AS state, count(*) AS total FROM sessions GROUP BY status

-- name: open_tasks
-- Counts tasks that have not ended, by status.
SELECT status AS state, count(*) AS total FROM tasks WHERE ended_at IS NULL GROUP BY status

-- name: pending_approvals
-- Counts pending approvals.
SELECT count(*) FROM approvals WHERE status = 'pending'
