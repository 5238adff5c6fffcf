-- name: add
-- Adds a checkpoint; an existing one of the same moment stays unchanged.
INSERT INTO checkpoints (id, repo_id, worktree_id, session_id, task_id, cwd, moment, sha, tree, head, branch, note, ref,
                         created_at)
VALUES (:id, :repo_id, :worktree_id, :session_id, :task_id, :cwd, :moment, :sha, :tree, :head, :branch, :note, :ref,
        :created_at)
ON CONFLICT (id) DO NOTHING

-- name: get
-- Returns one checkpoint.
SELECT * FROM checkpoints WHERE id = :id

-- name: of_task
-- Returns the checkpoints of a task, oldest first.
SELECT * FROM checkpoints WHERE task_id = :task_id ORDER BY created_at, id

-- name: newest
-- Lists checkpoints, newest first.
SELECT * FROM checkpoints WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- Counts the checkpoints that match a filter.
SELECT count(*) FROM checkpoints WHERE {where}

-- name: first_of_session
-- Returns a session's first checkpoint.
SELECT * FROM checkpoints WHERE session_id = :session_id AND moment = 'before' AND sha IS NOT NULL
ORDER BY created_at, id LIMIT 1

-- name: last_of_session
-- Returns the checkpoint after a session's last ended task.
SELECT * FROM checkpoints WHERE session_id = :session_id AND moment = 'after' AND sha IS NOT NULL
ORDER BY created_at DESC, id DESC LIMIT 1

-- name: of_others_since
-- Lists checkpoints of other sessions' tasks in a folder since a time.
SELECT * FROM checkpoints
WHERE cwd = :cwd AND created_at > :since AND task_id IS NOT NULL AND session_id <> :session_id
  AND moment IN ('before', 'after')
ORDER BY created_at, id

-- name: of_removed
-- Lists checkpoints in a folder whose sessions were deleted.
SELECT * FROM checkpoints WHERE cwd = :cwd AND session_id IS NULL AND moment IN ('before', 'after')
ORDER BY created_at, id

-- name: at_work
-- Lists tasks that are working in a folder, except those of one session.
SELECT t.* FROM tasks t CROSS JOIN sessions s
WHERE t.ended_at IS NULL AND t.status IN :statuses AND s.id = t.session_id AND s.cwd = :cwd AND s.id <> :but

-- name: at_work_below
-- Lists tasks that are working in a folder or below it; `below` is its path with a slash. A worktree or repository inside of it
-- is another folder.
SELECT t.* FROM tasks t CROSS JOIN sessions s
WHERE t.ended_at IS NULL AND t.status IN :statuses AND s.id = t.session_id
  AND (s.cwd = :path
       OR s.worktree_id IN (SELECT w.id FROM worktrees w WHERE w.path = :path AND w.removed_at IS NULL)
       OR (substr(s.cwd, 1, length(:below)) = :below
           AND NOT EXISTS (SELECT 1 FROM worktrees w
                           WHERE w.removed_at IS NULL AND substr(w.path, 1, length(:below)) = :below
                             AND (s.cwd = w.path OR substr(s.cwd, 1, length(w.path) + 1) = w.path || '/'))
           AND NOT EXISTS (SELECT 1 FROM repos r
                           WHERE r.kind = 'git' AND substr(r.path, 1, length(:below)) = :below
                             AND (s.cwd = r.path OR substr(s.cwd, 1, length(r.path) + 1) = r.path || '/'))))

-- name: meet
-- Records that two tasks worked in one folder at the same time.
INSERT INTO task_overlaps (task_id, other_task_id) VALUES (:task_id, :other_task_id), (:other_task_id, :task_id)
ON CONFLICT (task_id, other_task_id) DO NOTHING

-- name: overlaps
-- Lists other sessions' tasks that worked in the same folder at the same time.
SELECT t.* FROM task_overlaps o JOIN tasks t ON t.id = o.other_task_id WHERE o.task_id = :task_id
ORDER BY t.created_at, t.id

-- name: outdated
-- Lists checkpoints older than a time or without a session, oldest first, except those that races started from and
-- those that racers of undecided races began with.
SELECT c.*, r.path AS repo_path FROM checkpoints c JOIN repos r ON r.id = c.repo_id
WHERE (c.created_at < :before OR c.session_id IS NULL) AND c.moment <> 'fork' AND c.repo_id NOT IN :skipped
  AND NOT (c.moment = 'before' AND EXISTS (
    SELECT 1 FROM sessions s JOIN races x ON x.id = s.race_id WHERE s.id = c.session_id AND x.kept_session_id IS NULL))
ORDER BY c.created_at, c.id LIMIT :limit

-- name: of_races
-- Lists the checkpoints that races started from, oldest first.
SELECT c.*, r.path AS repo_path FROM checkpoints c JOIN repos r ON r.id = c.repo_id WHERE c.moment = 'fork'
ORDER BY c.created_at, c.id

-- name: refs_of_repo
-- Lists the refs of a repository's checkpoints.
SELECT DISTINCT ref FROM checkpoints WHERE repo_id = :repo_id AND ref IS NOT NULL

-- name: with_refs
-- Lists the checkpoints of tasks that have not ended, or ended lately, whose files a ref must keep.
SELECT c.* FROM checkpoints c JOIN tasks t ON t.id = c.task_id
WHERE c.ref IS NOT NULL AND c.sha IS NOT NULL AND (t.ended_at IS NULL OR t.ended_at > :since)
ORDER BY c.created_at, c.id

-- name: still_named
-- Returns the refs among some that other checkpoints also use.
SELECT DISTINCT ref FROM checkpoints WHERE ref IN :refs AND id NOT IN :ids

-- name: drop
-- Deletes checkpoints.
DELETE FROM checkpoints WHERE id IN :ids

-- name: folders
-- Lists the folders that checkpoints were taken of.
SELECT DISTINCT cwd FROM checkpoints ORDER BY cwd
