-- name: add
-- Registers a repository; an existing path stays unchanged.
INSERT INTO repos (id, name, path, kind, default_branch, created_at, updated_at)
VALUES (:id, :name, :path, :kind, :default_branch, :now, :now)
ON CONFLICT (path) DO NOTHING RETURNING *

-- name: get
-- Returns one repository.
SELECT * FROM repos WHERE id = :id

-- name: by_path
-- Returns the repository at a path.
SELECT * FROM repos WHERE path = :path

-- name: ids_by_path
-- Returns the paths among some that are registered, with the repositories' ids.
SELECT path, id FROM repos WHERE path IN :paths

-- name: folders
-- Returns the folders in which agents work: all repositories, and all worktrees that are not removed.
SELECT path FROM repos UNION SELECT path FROM worktrees WHERE removed_at IS NULL ORDER BY path

-- name: with_git
-- Returns all git repositories.
SELECT * FROM repos WHERE kind = 'git'

-- name: page
-- Lists repositories, newest first.
SELECT * FROM repos ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- Counts the repositories.
SELECT count(*) FROM repos

-- name: patch
-- Changes columns of a repository.
UPDATE repos SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: refresh
-- Updates the folder's kind and default branch.
UPDATE repos SET kind = :kind, default_branch = :default_branch, updated_at = :now WHERE id = :id RETURNING *

-- name: uses
-- Counts a repository's sessions and existing worktrees.
SELECT (SELECT count(*) FROM sessions WHERE repo_id = :id)
     + (SELECT count(*) FROM worktrees WHERE repo_id = :id AND removed_at IS NULL)

-- name: remove
-- Deletes a repository's row; its folder stays.
DELETE FROM repos WHERE id = :id
