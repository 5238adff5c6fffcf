-- name: find
-- Returns the commit that a remote's branch had when Bough last pushed or fetched it.
SELECT sha FROM remote_branches WHERE repo_id = :repo_id AND address = :address AND branch = :branch

-- name: note
-- Notes the commit of a remote's branch.
INSERT INTO remote_branches (repo_id, address, branch, sha, noted_at)
VALUES (:repo_id, :address, :branch, :sha, :now)
ON CONFLICT (repo_id, address, branch) DO UPDATE SET sha = excluded.sha, noted_at = excluded.noted_at

-- name: of_branch
-- Returns the commits that a branch had on all remotes when Bough last pushed or fetched it.
SELECT address, sha FROM remote_branches WHERE repo_id = :repo_id AND branch = :branch ORDER BY address
