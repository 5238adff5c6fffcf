-- name: note_end
-- Marks a session unread after a turn completed or failed.
INSERT INTO unread (session_id, task_id, status, ended_at) VALUES (:session_id, :task_id, :status, :now)
ON CONFLICT (session_id) DO UPDATE SET task_id = :task_id, status = :status, ended_at = :now

-- name: unread_again
-- Marks a session unread by its last turn, if one has completed or failed.
INSERT INTO unread (session_id, task_id, status, ended_at)
SELECT t.session_id, t.id, t.status, t.ended_at FROM tasks t
WHERE t.session_id = :session_id AND t.status IN ('completed', 'failed') AND t.ended_at IS NOT NULL
ORDER BY t.ended_at DESC, t.position DESC LIMIT 1
ON CONFLICT (session_id) DO NOTHING

-- name: read
-- Marks a session as read; tells whether anything was new.
DELETE FROM unread WHERE session_id = :session_id

-- name: spend
-- Adds a turn's usage to the quarter hour in which it ended.
INSERT INTO spending (quarter, turns, tokens, cost) VALUES (:quarter, 1, :tokens, :cost)
ON CONFLICT (quarter) DO UPDATE SET turns = spending.turns + 1, tokens = spending.tokens + :tokens,
    cost = spending.cost + :cost

-- name: spent
-- Sums usage since a quarter hour.
SELECT CAST(coalesce(sum(turns), 0) AS BIGINT) AS turns, CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens,
       coalesce(sum(cost), 0.0) AS cost
FROM spending WHERE quarter >= :since

-- name: asked
-- Lists pending approvals with their sessions, oldest first.
SELECT a.*, s.title AS session_title, s.root_session_id, s.agent, s.repo_id, s.cwd
FROM approvals a JOIN sessions s ON s.id = a.session_id WHERE a.status = 'pending'
ORDER BY a.created_at, a.id LIMIT :limit

-- name: failed
-- Lists unread sessions whose last turn failed or that ended in an error, newest first.
SELECT u.session_id FROM unread u JOIN sessions s ON s.id = u.session_id
WHERE (u.status = 'failed' OR s.status = 'error') AND NOT s.archived
ORDER BY u.ended_at DESC, u.session_id DESC LIMIT :limit

-- name: count_failed
-- Counts them.
SELECT count(*) FROM unread u JOIN sessions s ON s.id = u.session_id
WHERE (u.status = 'failed' OR s.status = 'error') AND NOT s.archived

-- name: review
-- Lists unread sessions that are idle with everything below them, newest first. Reports are read at the parent, and
-- side questions where they were asked.
WITH RECURSIVE busy (id) AS (
    SELECT session_id FROM tasks WHERE ended_at IS NULL
    UNION
    SELECT s.parent_session_id FROM sessions s JOIN busy b ON s.id = b.id WHERE s.parent_session_id IS NOT NULL
)
SELECT {columns} FROM unread u JOIN sessions s ON s.id = u.session_id
WHERE u.status = 'completed' AND s.status <> 'error' AND NOT s.archived AND s.kind <> 'btw'
  AND s.id NOT IN (SELECT id FROM busy)
  AND NOT EXISTS (SELECT 1 FROM callbacks c WHERE c.child_task_id = u.task_id AND c.state <> 'held')
{rest}

-- name: at_work
-- Lists sessions with a running turn that waits for nobody, newest first.
SELECT t.session_id FROM tasks t
WHERE t.ended_at IS NULL AND (t.status IN ('dispatching', 'running', 'stopping') OR t.status = 'interrupted' AND NOT t.held AND t.parked IS NULL)
ORDER BY t.started_at DESC, t.session_id DESC LIMIT :limit

-- name: count_at_work
-- Counts them; a session has one turn at a time.
SELECT count(*) FROM tasks t
WHERE t.ended_at IS NULL AND (t.status IN ('dispatching', 'running', 'stopping') OR t.status = 'interrupted' AND NOT t.held AND t.parked IS NULL)

-- name: waiting
-- Lists sessions with queued prompts or a parked turn and no running one, longest wait first.
SELECT t.session_id FROM tasks t WHERE t.ended_at IS NULL
GROUP BY t.session_id HAVING min(CASE WHEN t.status = 'queued' OR t.parked IS NOT NULL AND NOT t.held THEN 1 ELSE 0 END) = 1
ORDER BY min(t.created_at), t.session_id LIMIT :limit

-- name: count_waiting
-- Counts them.
SELECT count(*) FROM (
    SELECT t.session_id FROM tasks t WHERE t.ended_at IS NULL
    GROUP BY t.session_id HAVING min(CASE WHEN t.status = 'queued' OR t.parked IS NOT NULL AND NOT t.held THEN 1 ELSE 0 END) = 1
) found

-- name: recent
-- Lists trees by last activity, except trees with an archived root.
SELECT s.root_session_id, s.active_at FROM sessions s JOIN sessions r ON r.id = s.root_session_id
WHERE NOT r.archived ORDER BY s.active_at DESC, s.id DESC LIMIT :limit OFFSET :offset

-- name: trees
-- Sums up trees.
SELECT s.root_session_id, count(*) AS sessions, CAST(sum(s.tokens) AS BIGINT) AS tokens, sum(s.spent) AS cost,
       max(s.active_at) AS active_at, count(u.session_id) AS unread
FROM sessions s LEFT JOIN unread u ON u.session_id = s.id
WHERE s.root_session_id IN :roots GROUP BY s.root_session_id

-- name: trees_at_work
-- Counts the sessions of trees that are running, waiting for approval, or have queued prompts.
SELECT s.root_session_id,
       count(DISTINCT CASE WHEN t.status IN ('dispatching', 'running', 'stopping') THEN s.id END) AS running,
       count(DISTINCT CASE WHEN t.status = 'queued' OR t.parked IS NOT NULL THEN s.id END) AS queued,
       count(DISTINCT CASE WHEN EXISTS (SELECT 1 FROM approvals a WHERE a.task_id = t.id AND a.status = 'pending')
                           THEN s.id END) AS asking
FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE t.ended_at IS NULL AND s.root_session_id IN :roots GROUP BY s.root_session_id

-- name: sessions
-- Returns sessions for the start page.
SELECT s.id, s.title, s.agent, s.status, s.activity, s.kind, s.repo_id, r.name AS repo_name, s.worktree_id,
       coalesce(w.branch, s.git_state->>'branch') AS branch, s.root_session_id, s.parent_session_id,
       u.session_id IS NOT NULL AS unread, s.queue_paused, s.archived,
       (SELECT count(*) FROM tasks t WHERE t.session_id = s.id AND t.ended_at IS NULL AND t.status = 'queued') AS queued,
       (SELECT count(*) FROM tasks t JOIN approvals a ON a.task_id = t.id
         WHERE t.session_id = s.id AND t.ended_at IS NULL AND a.status = 'pending') AS asking,
       coalesce((SELECT substr(t.prompt, 1, 200) FROM tasks t WHERE t.session_id = s.id ORDER BY t.position LIMIT 1), '')
         AS first_prompt,
       l.id AS task_id, l.status AS task_status, substr(l.prompt, 1, 200) AS task_prompt, l.started_at AS task_started_at,
       l.ended_at AS task_ended_at, l.error AS task_error,
       s.updated_at, s.active_at, s.tokens, s.spent AS cost
FROM sessions s JOIN repos r ON r.id = s.repo_id LEFT JOIN worktrees w ON w.id = s.worktree_id
LEFT JOIN unread u ON u.session_id = s.id
LEFT JOIN tasks l ON l.id = (SELECT t.id FROM tasks t WHERE t.session_id = s.id AND t.started_at IS NOT NULL
                             ORDER BY t.started_at DESC, t.position DESC LIMIT 1)
WHERE s.id IN :ids
