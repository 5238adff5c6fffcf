-- name: sessions_by_name
-- Lists sessions with this title, in a worktree with this name or branch, or in a repo with this name.
SELECT s.id, s.title AS name, s.cwd AS folder, s.status = 'active' AS is_active, s.kind = 'root' AS is_root
FROM sessions s
JOIN repos r ON r.id = s.repo_id
LEFT JOIN worktrees w ON w.id = s.worktree_id AND w.removed_at IS NULL
WHERE s.archived = :archived AND (s.title = :name OR w.name = :name OR w.branch = :name OR r.name = :name)
ORDER BY s.created_at DESC, s.id DESC LIMIT :limit

-- name: sessions_in
-- Lists sessions that work in one of some folders.
SELECT id, title AS name, cwd AS folder, status = 'active' AS is_active, kind = 'root' AS is_root
FROM sessions WHERE cwd IN :folders AND archived = FALSE ORDER BY created_at DESC, id DESC

-- name: sessions_below
-- Lists sessions that work below a folder, whose path ends with a slash here.
SELECT id, title AS name, cwd AS folder, status = 'active' AS is_active, kind = 'root' AS is_root
FROM sessions WHERE substr(cwd, 1, length(:folder)) = :folder AND archived = FALSE
ORDER BY created_at DESC, id DESC

-- name: last_session
-- Returns the session that a person created last; `user_name` is empty for the server's owner.
SELECT id, title AS name, cwd AS folder, status = 'active' AS is_active, kind = 'root' AS is_root
FROM sessions
WHERE archived = FALSE AND kind <> 'btw' AND created_by->>'kind' = 'person'
    AND coalesce(created_by->>'user', '') = :user_name
ORDER BY created_at DESC, id DESC LIMIT 1

-- name: worktrees_by_name
-- Lists worktrees with this name or branch, or of a repo with this name.
SELECT w.id, w.name, w.path AS folder, TRUE AS is_active, TRUE AS is_root
FROM worktrees w JOIN repos r ON r.id = w.repo_id
WHERE (w.removed_at IS NOT NULL) = :removed AND w.status <> 'making'
    AND (w.name = :name OR w.branch = :name OR r.name = :name)
ORDER BY w.created_at DESC, w.id DESC LIMIT :limit

-- name: worktrees_in
-- Lists worktrees whose folder is one of some folders.
SELECT id, name, path AS folder, TRUE AS is_active, TRUE AS is_root
FROM worktrees WHERE path IN :folders AND (removed_at IS NOT NULL) = :removed AND status <> 'making'
ORDER BY created_at DESC, id DESC

-- name: last_worktree
-- Returns the worktree that was created or adopted last or, among removed ones, removed last.
SELECT id, name, path AS folder, TRUE AS is_active, TRUE AS is_root
FROM worktrees WHERE (removed_at IS NOT NULL) = :removed AND status <> 'making'
ORDER BY coalesce(removed_at, created_at) DESC, id DESC LIMIT 1

-- name: repos_by_name
-- Lists repos with this name, or with a worktree on this branch.
SELECT r.id, r.name, r.path AS folder, TRUE AS is_active, TRUE AS is_root FROM repos r
WHERE r.name = :name OR EXISTS (
    SELECT 1 FROM worktrees w WHERE w.repo_id = r.id AND w.branch = :name AND w.removed_at IS NULL
)
ORDER BY r.created_at DESC, r.id DESC LIMIT :limit

-- name: repos_in
-- Lists repos whose folder is one of some folders.
SELECT id, name, path AS folder, TRUE AS is_active, TRUE AS is_root FROM repos WHERE path IN :folders

-- name: last_repo
-- Returns the repo that was registered last.
SELECT id, name, path AS folder, TRUE AS is_active, TRUE AS is_root FROM repos ORDER BY created_at DESC, id DESC LIMIT 1

-- name: races_by_name
-- Lists races with this title or prompt, or that began at a session with this title. The racers carry a race's title,
-- each with its number.
SELECT r.id, r.prompt AS name, r.cwd AS folder, TRUE AS is_active, TRUE AS is_root FROM races r
WHERE r.prompt = :name
    OR EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id AND s.title = :name)
    OR EXISTS (
        SELECT 1 FROM sessions s
        WHERE s.race_id = r.id AND s.title IN (:name, CAST(:name AS TEXT) || ' (' || CAST(s.race_number AS TEXT) || ')')
    )
ORDER BY r.created_at DESC, r.id DESC LIMIT :limit

-- name: last_race
-- Returns the race that was started last.
SELECT id, prompt AS name, cwd AS folder, TRUE AS is_active, TRUE AS is_root FROM races
ORDER BY created_at DESC, id DESC LIMIT 1
