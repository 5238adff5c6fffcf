-- name: all
-- Lists the limits in force.
SELECT * FROM agent_limits ORDER BY agent, account

-- name: get
-- Returns the limit of an account.
SELECT * FROM agent_limits WHERE agent = :agent AND account = :account

-- name: of_agent
-- Counts the limits of an agent.
SELECT count(*) FROM agent_limits WHERE agent = :agent

-- name: set
-- Sets the limit of an account.
INSERT INTO agent_limits (agent, account, reason, is_usage, started_at, resumes_at, tries)
VALUES (:agent, :account, :reason, :is_usage, :started_at, :resumes_at, :tries)
ON CONFLICT (agent, account) DO UPDATE SET reason = :reason, is_usage = :is_usage, resumes_at = :resumes_at, tries = :tries
RETURNING *

-- name: lift
-- Ends the limit of an account on which a turn succeeded after its time.
DELETE FROM agent_limits WHERE agent = :agent AND account = :account AND resumes_at <= :now

-- name: parked
-- Lists the tasks that wait for the limit of an account.
SELECT * FROM tasks WHERE ended_at IS NULL AND parked->>'agent' = :agent AND parked->>'account' = :account ORDER BY created_at, id

-- name: parked_origins
-- Lists the trees in which tasks wait for the limit of an account, each as the tree that it was created from.
WITH RECURSIVE made_from (id) AS (
    SELECT s.root_session_id FROM tasks t JOIN sessions s ON s.id = t.session_id
    WHERE t.ended_at IS NULL AND t.parked->>'agent' = :agent AND t.parked->>'account' = :account
    UNION
    SELECT m.maker_root_id FROM tree_makers m JOIN made_from f ON m.root_session_id = f.id
)
SELECT id FROM made_from f WHERE NOT EXISTS (SELECT 1 FROM tree_makers m WHERE m.root_session_id = f.id) ORDER BY id

-- name: origin
-- Returns the tree that a tree was created from, perhaps through others; itself if no agent created it.
WITH RECURSIVE made_from (id) AS (
    SELECT root_session_id FROM (SELECT root_session_id FROM sessions WHERE root_session_id = :root LIMIT 1) own
    UNION
    SELECT m.maker_root_id FROM tree_makers m JOIN made_from f ON m.root_session_id = f.id
)
SELECT id FROM made_from f WHERE NOT EXISTS (SELECT 1 FROM tree_makers m WHERE m.root_session_id = f.id)

-- name: asked
-- Counts the open questions to people about the limit of an account.
SELECT count(*) FROM approvals a JOIN tasks t ON t.id = a.task_id
WHERE a.status = 'pending' AND a.tool_kind = :kind AND t.ended_at IS NULL
  AND t.parked->>'agent' = :agent AND t.parked->>'account' = :account

-- name: note_park
-- Notes that an attempt of a task is parked.
INSERT INTO task_parks (task_id, attempt, parked_at) VALUES (:task_id, :attempt, :now)
ON CONFLICT (task_id, attempt) DO NOTHING

-- name: note_resume
-- Notes that a parked task continues or ends.
UPDATE task_parks SET resumed_at = :now WHERE task_id = :task_id AND resumed_at IS NULL

-- name: met_limit
-- Tells whether an attempt of a task met a limit.
SELECT count(*) FROM task_parks WHERE task_id = :task_id AND attempt = :attempt
