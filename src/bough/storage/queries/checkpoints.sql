-- name: add
-- Writes down a checkpoint; a moment of a task that is there already stays as it is.
INSERT INTO checkpoints (id, repo_id, worktree_id, session_id, task_id, cwd, moment, sha, tree, head, branch, note, ref,
                         created_at)
VALUES (:id, :repo_id, :worktree_id, :session_id, :task_id, :cwd, :moment, :sha, :tree, :head, :branch, :note, :ref,
        :created_at)
ON CONFLICT (id) DO NOTHING

-- name: get
-- One checkpoint.
SELECT * FROM checkpoints WHERE id = :id

-- name: of_task
-- The checkpoints of a task, oldest first.
SELECT * FROM checkpoints WHERE task_id = :task_id ORDER BY created_at, id

-- name: newest
-- Checkpoints, newest first.
SELECT * FROM checkpoints WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- How many checkpoints a filter leaves.
SELECT count(*) FROM checkpoints WHERE {where}

-- name: first_of_session
-- What a session began with.
SELECT * FROM checkpoints WHERE session_id = :session_id AND moment = 'before' AND sha IS NOT NULL
ORDER BY created_at, id LIMIT 1

-- name: last_of_session
-- What the last task of a session that has ended left.
SELECT * FROM checkpoints WHERE session_id = :session_id AND moment = 'after' AND sha IS NOT NULL
ORDER BY created_at DESC, id DESC LIMIT 1

-- name: of_others_since
-- What tasks of other sessions have left in a folder since a moment.
SELECT * FROM checkpoints
WHERE cwd = :cwd AND created_at > :since AND task_id IS NOT NULL AND session_id <> :session_id
  AND moment IN ('before', 'after')
ORDER BY created_at, id

-- name: of_removed
-- What tasks of sessions that were removed since have left in a folder.
SELECT * FROM checkpoints WHERE cwd = :cwd AND session_id IS NULL AND moment IN ('before', 'after')
ORDER BY created_at, id

-- name: at_work
-- Tasks that have the files of a folder in their hands, those of one session left out.
SELECT t.* FROM tasks t CROSS JOIN sessions s
WHERE t.ended_at IS NULL AND t.status IN :statuses AND s.id = t.session_id AND s.cwd = :cwd AND s.id <> :but

-- name: meet
-- Writes down that two tasks were at work in one folder at the same time.
INSERT INTO task_overlaps (task_id, other_task_id) VALUES (:task_id, :other_task_id), (:other_task_id, :task_id)
ON CONFLICT (task_id, other_task_id) DO NOTHING

-- name: overlaps
-- The tasks of other sessions that were at work in the same folder at the same time.
SELECT t.* FROM task_overlaps o JOIN tasks t ON t.id = o.other_task_id WHERE o.task_id = :task_id
ORDER BY t.created_at, t.id

-- name: outdated
-- Checkpoints that are older than a moment or whose session is gone, oldest first; not those that races began with.
SELECT c.*, r.path AS repo_path FROM checkpoints c JOIN repos r ON r.id = c.repo_id
WHERE (c.created_at < :before OR c.session_id IS NULL) AND c.moment <> 'fork' AND c.repo_id NOT IN :skipped
ORDER BY c.created_at, c.id LIMIT :limit

-- name: of_races
-- What races began with, oldest first.
SELECT c.*, r.path AS repo_path FROM checkpoints c JOIN repos r ON r.id = c.repo_id WHERE c.moment = 'fork'
ORDER BY c.created_at, c.id

-- name: refs_of_repo
-- The refs that hold the checkpoints of a repository; each is of one session, and so of one repository.
SELECT DISTINCT ref FROM checkpoints WHERE repo_id = :repo_id AND ref IS NOT NULL

-- name: still_named
-- Those of some refs that other checkpoints are held by too.
SELECT DISTINCT ref FROM checkpoints WHERE ref IN :refs AND id NOT IN :ids

-- name: drop
-- Forgets checkpoints.
DELETE FROM checkpoints WHERE id IN :ids
