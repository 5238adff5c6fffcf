-- name: add
-- Records a race that begins.
INSERT INTO races (id, session_id, kind, prompt, cwd, start_sha, head_sha, created_at, updated_at)
VALUES (:id, :session_id, :kind, :prompt, :cwd, :start_sha, :head_sha, :now, :now)

-- name: get
-- Returns one race.
SELECT * FROM races WHERE id = :id

-- name: page
-- Lists all races that still have racers, newest first.
SELECT * FROM races WHERE EXISTS (SELECT 1 FROM sessions WHERE race_id = races.id)
ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- Counts all races that still have racers.
SELECT count(*) FROM races WHERE EXISTS (SELECT 1 FROM sessions WHERE race_id = races.id)

-- name: racers_of
-- Lists some races with the sessions that run in each, by their numbers.
SELECT race_id, id FROM sessions WHERE race_id IN :race_ids ORDER BY race_id, race_number

-- name: of_tree
-- Lists the races that began at sessions of a tree, newest first.
SELECT r.* FROM races r JOIN sessions s ON s.id = r.session_id WHERE s.root_session_id = :root
ORDER BY r.created_at DESC, r.id DESC

-- name: racers
-- Lists the sessions that run in a race, by their numbers; purged ones are gone.
SELECT * FROM sessions WHERE race_id = :race_id ORDER BY race_number

-- name: racers_of_tree
-- Lists the races of a tree's sessions with the sessions that run in each, by their numbers.
SELECT race_id, id FROM sessions WHERE root_session_id = :root AND race_id IS NOT NULL ORDER BY race_id, race_number

-- name: keep
-- Records which racer was kept, and the answer that was given for it.
UPDATE races SET kept_session_id = :session_id, kept = :kept, updated_at = :now WHERE id = :id

-- name: first_task
-- Returns the task that carries a racer's prompt.
SELECT * FROM tasks WHERE session_id = :session_id ORDER BY position LIMIT 1

-- name: first_turn
-- Returns the first task of a racer whose prompt was sent.
SELECT * FROM tasks WHERE session_id = :session_id AND sent_attempt > 0 ORDER BY started_at, position LIMIT 1
