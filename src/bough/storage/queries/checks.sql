-- name: track
-- Stores the pull request that is open for a worktree's branch. What is known of the same one stays.
INSERT INTO pull_requests (worktree_id, forge, host, project, number, url, state)
VALUES (:worktree_id, :forge, :host, :project, :number, :url, 'open')
ON CONFLICT (worktree_id) DO UPDATE SET
    forge = excluded.forge, host = excluded.host, project = excluded.project, number = excluded.number,
    url = excluded.url, state = 'open', error = NULL,
    head = CASE WHEN pull_requests.url = excluded.url THEN pull_requests.head END,
    checks = CASE WHEN pull_requests.url = excluded.url THEN pull_requests.checks ELSE '[]' END,
    threads = CASE WHEN pull_requests.url = excluded.url THEN pull_requests.threads ELSE '[]' END,
    -- Agents can change the address of the remote: a person decides about the texts of another project.
    auto_send = CASE WHEN pull_requests.host = excluded.host AND pull_requests.project = excluded.project
        THEN pull_requests.auto_send END

-- name: get
-- Returns the pull request of a worktree.
SELECT * FROM pull_requests WHERE worktree_id = :worktree_id

-- name: open
-- Returns the open pull requests of worktrees that are not removed.
SELECT p.* FROM pull_requests p JOIN worktrees w ON w.id = p.worktree_id
WHERE p.state = 'open' AND w.removed_at IS NULL ORDER BY p.worktree_id

-- name: of_live_worktrees
-- Returns the worktrees that are not removed and have a pull request.
SELECT p.worktree_id FROM pull_requests p JOIN worktrees w ON w.id = p.worktree_id
WHERE w.removed_at IS NULL ORDER BY p.worktree_id LIMIT :limit

-- name: store
-- Stores what was read of a pull request.
UPDATE pull_requests SET state = :state, url = :url, head = :head, checks = :checks, threads = :threads, error = NULL,
    checked_at = :now
WHERE worktree_id = :worktree_id AND number = :number RETURNING *

-- name: fail
-- Stores why a pull request could not be read.
UPDATE pull_requests SET error = :error, checked_at = :now WHERE worktree_id = :worktree_id RETURNING *

-- name: set_auto_send
-- Sets whether failures are sent by themselves.
UPDATE pull_requests SET auto_send = :auto_send WHERE worktree_id = :worktree_id RETURNING *

-- name: sent
-- Returns what was sent about a pull request.
SELECT item, prompt FROM check_prompts WHERE worktree_id = :worktree_id AND number = :number

-- name: add_check_prompt
-- Stores that a failed check or thread was sent.
INSERT INTO check_prompts (worktree_id, number, item, head, prompt, session_id, task_id, sent_at)
VALUES (:worktree_id, :number, :item, :head, :prompt, :session_id, :task_id, :now)

-- name: owner
-- Returns the session of a worktree that gets its failures: an active one first, then the one used last.
SELECT id FROM sessions WHERE worktree_id = :id AND kind <> 'btw' AND NOT archived
ORDER BY CASE WHEN status = 'active' THEN 0 ELSE 1 END, updated_at DESC, id DESC LIMIT 1
