-- name: page
-- Lists a board's cards: for each repository its own folder first, then its worktrees in creation order.
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
-- Counts a board's cards.
SELECT (SELECT count(*) FROM repos r WHERE {repos})
     + (SELECT count(*) FROM worktrees w WHERE w.removed_at IS NULL AND w.status <> 'making' AND {worktrees})

-- name: repos
-- Returns repositories by id for cards.
SELECT id, name, path, kind, default_branch FROM repos WHERE id IN :ids

-- name: worktrees
-- Returns worktrees by id.
SELECT * FROM worktrees WHERE id IN :ids

-- name: in_worktrees
-- Lists the sessions of each worktree that run or wait and the latest others, with their total.
SELECT id, total FROM (
    SELECT id, row_number() OVER (
               PARTITION BY worktree_id
               ORDER BY CASE WHEN status = 'active' AND activity IN ('running', 'waiting_permission') THEN 0 ELSE 1 END,
                        created_at DESC, id DESC
           ) AS place,
           count(*) OVER (PARTITION BY worktree_id) AS total
    FROM sessions WHERE worktree_id IN :ids AND {shown}
) found WHERE place <= :most

-- name: in_repos
-- Lists the sessions in repositories' own folders that run or wait and the latest others, with their total.
SELECT id, total FROM (
    SELECT id, row_number() OVER (
               PARTITION BY repo_id
               ORDER BY CASE WHEN status = 'active' AND activity IN ('running', 'waiting_permission') THEN 0 ELSE 1 END,
                        created_at DESC, id DESC
           ) AS place,
           count(*) OVER (PARTITION BY repo_id) AS total
    FROM sessions WHERE repo_id IN :ids AND worktree_id IS NULL AND {shown}
) found WHERE place <= :most
