-- name: add
-- Adds a worktree unless its path is already used.
INSERT INTO worktrees (
    id, repo_id, name, path, branch, base_ref, base_sha, made_by_bough, notes, board_id, x, y, created_at, updated_at,
    status, branch_made
) VALUES (
    :id, :repo_id, :name, :path, :branch, :base_ref, :base_sha, :made_by_bough, :notes, :board_id, :x, :y, :now, :now,
    :status, :branch_made
) ON CONFLICT (path) WHERE removed_at IS NULL DO NOTHING RETURNING *

-- name: get
-- Returns one worktree.
SELECT * FROM worktrees WHERE id = :id

-- name: by_path
-- Returns the worktree at a path that is not removed.
SELECT * FROM worktrees WHERE path = :path AND removed_at IS NULL

-- name: paths
-- Returns the folders of all worktrees that are not removed.
SELECT path FROM worktrees WHERE removed_at IS NULL ORDER BY path

-- name: of_repo
-- Returns the worktrees of a repository that are not removed.
SELECT * FROM worktrees WHERE repo_id = :repo_id AND removed_at IS NULL ORDER BY created_at, id

-- name: live
-- Returns the newest worktrees that can be worked in.
SELECT * FROM worktrees WHERE removed_at IS NULL AND status = 'ready' ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: page
-- Lists worktrees, newest first.
SELECT * FROM worktrees WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- Counts the worktrees that match a filter.
SELECT count(*) FROM worktrees WHERE {where}

-- name: unfinished
-- Lists worktrees that the last server was creating, setting up or removing.
SELECT * FROM worktrees WHERE status <> 'ready'

-- name: patch
-- Changes columns of a worktree.
UPDATE worktrees SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: sessions
-- Returns the sessions that work in a worktree, newest first.
SELECT id, title, agent, status, activity FROM sessions WHERE worktree_id = :id ORDER BY created_at DESC, id DESC
LIMIT :limit

-- name: active_sessions
-- Returns the active sessions that work in a worktree, or in a folder of it.
SELECT id, title, agent, status, activity FROM sessions
WHERE status = 'active' AND (worktree_id = :id OR cwd = :path) ORDER BY created_at, id

-- name: unarchived_sessions
-- Returns the sessions that work in a worktree, or in a folder of it, and are not archived, newest first.
SELECT * FROM sessions WHERE NOT archived AND (worktree_id = :id OR (cwd = :path AND status = 'active'))
ORDER BY created_at DESC, id DESC

-- name: is_in_tree
-- Counts the sessions of a tree that work in a worktree.
SELECT count(*) FROM sessions WHERE worktree_id = :id AND root_session_id = :root

-- name: forget
-- Deletes an unfinished worktree's row.
DELETE FROM worktrees WHERE id = :id

-- name: forget_removed
-- Deletes the removed worktrees of a repository.
DELETE FROM worktrees WHERE repo_id = :repo_id AND removed_at IS NOT NULL

-- name: last_turn
-- Returns the last completed task in a worktree with its session's title; side questions do not count.
SELECT t.*, s.title FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE s.worktree_id = :id AND s.kind <> 'btw' AND t.status = 'completed'
ORDER BY t.ended_at DESC, t.id DESC LIMIT 1

-- name: newest_session
-- Returns the active session that was last used in a worktree; side questions do not count.
SELECT id FROM sessions WHERE worktree_id = :id AND status = 'active' AND kind <> 'btw'
ORDER BY updated_at DESC, id DESC LIMIT 1

-- name: ports
-- Returns the first ports of all blocks that are in use.
SELECT first_port FROM worktrees WHERE removed_at IS NULL AND first_port IS NOT NULL ORDER BY first_port
