-- name: page
-- The cards of a board: of each repository its own folder first, then its worktrees, as they were made.
SELECT * FROM (
    SELECT r.id AS repo_id, CAST(NULL AS TEXT) AS worktree_id, r.created_at AS repo_created_at, '' AS created_at, r.x, r.y
    FROM repos r WHERE {repos}
    UNION ALL
    SELECT w.repo_id, w.id, r.created_at, w.created_at, w.x, w.y
    FROM worktrees w JOIN repos r ON r.id = w.repo_id
    WHERE w.removed_at IS NULL AND w.status <> 'making' AND {worktrees}
) cards
ORDER BY repo_created_at, repo_id, created_at, worktree_id LIMIT :limit OFFSET :offset

-- name: count
-- How many cards a board has.
SELECT (SELECT count(*) FROM repos r WHERE {repos})
     + (SELECT count(*) FROM worktrees w WHERE w.removed_at IS NULL AND w.status <> 'making' AND {worktrees})

-- name: repos
-- Repositories by their ids, as cards name them.
SELECT id, name, path, kind, default_branch FROM repos WHERE id IN :ids

-- name: worktrees
-- Worktrees by their ids.
SELECT * FROM worktrees WHERE id IN :ids

-- name: in_worktrees
-- The sessions of some worktrees, for each those that were opened last, and how many there are.
SELECT id, total FROM (
    SELECT id, row_number() OVER (PARTITION BY worktree_id ORDER BY created_at DESC, id DESC) AS place,
           count(*) OVER (PARTITION BY worktree_id) AS total
    FROM sessions WHERE worktree_id IN :ids AND {shown}
) found WHERE place <= :most

-- name: in_repos
-- The same for sessions that work in repositories' own folders.
SELECT id, total FROM (
    SELECT id, row_number() OVER (PARTITION BY repo_id ORDER BY created_at DESC, id DESC) AS place,
           count(*) OVER (PARTITION BY repo_id) AS total
    FROM sessions WHERE repo_id IN :ids AND worktree_id IS NULL AND {shown}
) found WHERE place <= :most
