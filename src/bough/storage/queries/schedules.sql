-- name: add
-- Adds a schedule.
INSERT INTO schedules (id, title, prompt, cron, at, timezone, session_id, template, missed, overlap, paused, failures,
                       created_by, next_at, created_at, updated_at)
VALUES (:id, :title, :prompt, :cron, :at, :timezone, :session_id, :template, :missed, :overlap, :paused, 0,
        :created_by, :next_at, :now, :now)
RETURNING *

-- name: get
-- Returns one schedule.
SELECT * FROM schedules WHERE id = :id

-- name: page
-- Lists schedules: those that are due next first, then those without a next time.
SELECT * FROM schedules ORDER BY (CASE WHEN paused OR next_at IS NULL THEN 1 ELSE 0 END), next_at, id
LIMIT :limit OFFSET :offset

-- name: of_session
-- Lists the schedules that prompt one session.
SELECT * FROM schedules WHERE session_id = :session_id ORDER BY id LIMIT :limit OFFSET :offset

-- name: count
-- Counts the schedules.
SELECT count(*) FROM schedules

-- name: count_of_session
-- Counts the schedules that prompt one session.
SELECT count(*) FROM schedules WHERE session_id = :session_id

-- name: patch
-- Changes columns of a schedule.
UPDATE schedules SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: remove
-- Deletes a schedule and its runs.
DELETE FROM schedules WHERE id = :id

-- name: active
-- Returns all schedules that the clock may start.
SELECT * FROM schedules WHERE NOT paused AND next_at IS NOT NULL ORDER BY next_at, id

-- name: add_run
-- Adds a run; returns nothing if its time was used already.
INSERT INTO schedule_runs (id, schedule_id, slot, trigger, status, missed, created_at, number)
VALUES (:id, :schedule_id, :slot, :trigger, 'starting', :missed, :now,
        (SELECT COALESCE(MAX(number), 0) + 1 FROM schedule_runs WHERE schedule_id = :schedule_id))
ON CONFLICT (schedule_id, slot) DO NOTHING RETURNING *

-- name: get_run
-- Returns one run.
SELECT * FROM schedule_runs WHERE id = :id

-- name: end_run
-- Stores how a run's start ended; returns nothing if that is stored already.
UPDATE schedule_runs SET status = :status, reason = :reason, session_id = :session_id, task_id = :task_id
WHERE id = :id AND status = 'starting' RETURNING *

-- name: delay_run
-- Stores why a run has to wait.
UPDATE schedule_runs SET reason = :reason WHERE id = :id AND status = 'starting' RETURNING *

-- name: starting
-- Returns the runs that are not started yet, oldest first.
SELECT * FROM schedule_runs WHERE status = 'starting' ORDER BY created_at, id

-- name: last_task
-- Returns the task of the newest started run of a schedule.
SELECT task_id FROM schedule_runs WHERE schedule_id = :schedule_id AND status = 'started' AND task_id IS NOT NULL
ORDER BY created_at DESC, id DESC LIMIT 1

-- name: runs
-- Lists the runs of a schedule, newest first.
SELECT * FROM schedule_runs WHERE schedule_id = :schedule_id ORDER BY created_at DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: count_runs
-- Counts the runs of a schedule.
SELECT count(*) FROM schedule_runs WHERE schedule_id = :schedule_id

-- name: prune_runs
-- Deletes all but the newest runs of a schedule.
DELETE FROM schedule_runs WHERE schedule_id = :schedule_id AND status <> 'starting' AND id NOT IN (
    SELECT id FROM schedule_runs WHERE schedule_id = :schedule_id ORDER BY created_at DESC, id DESC LIMIT :keep)
