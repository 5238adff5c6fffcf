-- name: add
-- Makes a worktree known; a path that one has already is not taken twice.
INSERT INTO worktrees (
    id, repo_id, name, path, branch, base_ref, base_sha, made_by_bough, notes, board_id, x, y, created_at, updated_at,
    status, branch_made
) VALUES (
    :id, :repo_id, :name, :path, :branch, :base_ref, :base_sha, :made_by_bough, :notes, :board_id, :x, :y, :now, :now,
    :status, :branch_made
) ON CONFLICT (path) WHERE removed_at IS NULL DO NOTHING RETURNING *

-- name: get
-- One worktree.
SELECT * FROM worktrees WHERE id = :id

-- name: by_path
-- The worktree at a path that is not removed.
SELECT * FROM worktrees WHERE path = :path AND removed_at IS NULL

-- name: of_repo
-- The worktrees of a repository that are not removed.
SELECT * FROM worktrees WHERE repo_id = :repo_id AND removed_at IS NULL ORDER BY created_at, id

-- name: page
-- Worktrees, newest first.
SELECT * FROM worktrees WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- How many worktrees a filter leaves.
SELECT count(*) FROM worktrees WHERE {where}

-- name: unfinished
-- Worktrees that were being made, set up or removed when the last server ended.
SELECT * FROM worktrees WHERE status <> 'ready'

-- name: patch
-- Changes columns of a worktree.
UPDATE worktrees SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: sessions
-- The sessions that work in a worktree, newest first.
SELECT id, title, agent, status, activity FROM sessions WHERE worktree_id = :id ORDER BY created_at DESC, id DESC
LIMIT :limit

-- name: active_sessions
-- The active sessions that work in a worktree, or in a folder of it.
SELECT id, title, agent, status, activity FROM sessions
WHERE status = 'active' AND (worktree_id = :id OR cwd = :path) ORDER BY created_at, id

-- name: forget
-- Forgets a worktree that was never finished; nothing refers to it.
DELETE FROM worktrees WHERE id = :id

-- name: forget_removed
-- Forgets the removed worktrees of a repository that is forgotten itself.
DELETE FROM worktrees WHERE repo_id = :repo_id AND removed_at IS NOT NULL
