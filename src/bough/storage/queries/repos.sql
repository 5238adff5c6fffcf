-- name: add
-- Registers a repository; a path that is known already stays as it is.
INSERT INTO repos (id, name, path, kind, default_branch, created_at, updated_at)
VALUES (:id, :name, :path, :kind, :default_branch, :now, :now)
ON CONFLICT (path) DO NOTHING RETURNING *

-- name: get
-- One repository.
SELECT * FROM repos WHERE id = :id

-- name: by_path
-- The repository at a path.
SELECT * FROM repos WHERE path = :path

-- name: page
-- Repositories, newest first.
SELECT * FROM repos ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count
-- How many repositories there are.
SELECT count(*) FROM repos

-- name: patch
-- Changes columns of a repository.
UPDATE repos SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: refresh
-- Records what the folder is today: it may have become a repository, or changed its default branch.
UPDATE repos SET kind = :kind, default_branch = :default_branch, updated_at = :now WHERE id = :id RETURNING *

-- name: uses
-- How many sessions and living worktrees a repository has.
SELECT (SELECT count(*) FROM sessions WHERE repo_id = :id)
     + (SELECT count(*) FROM worktrees WHERE repo_id = :id AND removed_at IS NULL)

-- name: remove
-- Forgets a repository; its folder is not touched.
DELETE FROM repos WHERE id = :id
