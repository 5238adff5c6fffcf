-- name: add_callback
-- Adds a child's report, once.
INSERT INTO callbacks (id, child_session_id, child_task_id, parent_session_id, parent_task_id, state, reason, text,
                       created_at, updated_at)
VALUES (:id, :child_session_id, :child_task_id, :parent_session_id, :parent_task_id, :state, :reason, :text, :now, :now)
ON CONFLICT (child_task_id) DO NOTHING RETURNING *

-- name: carried
-- Records whether the report that a parent's task carries is being sent.
UPDATE callbacks SET state = :state, reason = :reason, updated_at = :now
WHERE parent_task_id = :task_id AND state = 'queued' RETURNING *

-- name: join_callback
-- Hands a report that waits over to the task that carries it now.
UPDATE callbacks SET parent_task_id = :carrier_id, updated_at = :now
WHERE parent_task_id = :task_id AND state = 'queued' RETURNING *

-- name: callbacks_page
-- Lists reports, newest first.
SELECT * FROM callbacks WHERE {where} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: callbacks_count
-- Counts the reports that match a filter.
SELECT count(*) FROM callbacks WHERE {where}

-- name: add_aside
-- Adds a note for an agent's next prompt.
INSERT INTO asides (id, session_id, from_session_id, text, told_task_id, created_at)
VALUES (:id, :session_id, :from_session_id, :text, NULL, :now) RETURNING *

-- name: tell_asides
-- Assigns the pending notes to a prompt that is about to be sent.
UPDATE asides SET told_task_id = :task_id WHERE session_id = :session_id AND told_task_id IS NULL

-- name: untold
-- Lists notes that an agent has not received, or only with a prompt that may be sent again.
SELECT * FROM asides WHERE session_id = :session_id
  AND (told_task_id IS NULL OR told_task_id IN (SELECT id FROM tasks WHERE session_id = :session_id AND ended_at IS NULL))
ORDER BY created_at, id

-- name: limits
-- Lists pending approvals about whether a tree may continue.
SELECT a.* FROM approvals a JOIN sessions s ON s.id = a.session_id
WHERE s.root_session_id = :root AND a.status = 'pending' AND a.tool_kind = :limit_kind ORDER BY a.created_at, a.id

-- name: told_with
-- Lists the notes that go with a prompt.
SELECT * FROM asides WHERE session_id = :session_id AND told_task_id = :task_id ORDER BY created_at, id

-- name: open_children
-- Counts a session's children that have work.
SELECT count(*) FROM sessions c WHERE c.parent_session_id = :id AND c.kind = 'subsession' AND c.status = 'active'
  AND EXISTS (SELECT 1 FROM tasks t WHERE t.session_id = c.id AND t.ended_at IS NULL)

-- name: live_children
-- Counts a session's active children.
SELECT count(*) FROM sessions WHERE parent_session_id = :id AND kind = 'subsession' AND status = 'active'

-- name: size
-- Counts a tree's sessions, except archived ones and side questions.
SELECT count(*) FROM sessions WHERE root_session_id = :root AND NOT archived AND kind <> 'btw'

-- name: lock
-- Serializes those who would grow one tree at the same time.
UPDATE sessions SET depth = depth WHERE id = :root

-- name: last_ended
-- Returns a session's last ended task.
SELECT * FROM tasks WHERE session_id = :session_id AND ended_at IS NOT NULL AND sent_attempt > 0
ORDER BY ended_at DESC, position DESC LIMIT 1

-- name: last_sent
-- Returns the task whose prompt was sent last to the session's agent.
SELECT id FROM tasks WHERE session_id = :session_id AND sent_attempt > 0 ORDER BY started_at DESC, position DESC LIMIT 1

-- name: heard
-- Returns a task in which the session's agent said something or which it completed.
SELECT t.id FROM tasks t WHERE t.session_id = :session_id AND t.sent_attempt > 0
  AND (t.status = 'completed' OR EXISTS (SELECT 1 FROM messages m WHERE m.task_id = t.id AND m.role = 'agent')) LIMIT 1

-- name: usage_before
-- Returns a session's token count at the end of one of its tasks.
SELECT usage FROM tasks WHERE session_id = :session_id AND usage IS NOT NULL
  AND ended_at <= (SELECT ended_at FROM tasks WHERE id = :task_id)
ORDER BY ended_at DESC, position DESC LIMIT 1

-- name: last_words
-- Returns the agent's last messages in a task.
SELECT * FROM messages WHERE task_id = :task_id AND role = 'agent' ORDER BY position DESC LIMIT :limit

-- name: nodes
-- Lists sessions for trees and cards, with what is queued or pending in each, in creation order.
SELECT s.id, s.kind, s.parent_session_id, s.forked_from_session_id, s.branch_task_id, s.depth, s.agent, s.title, s.status,
       s.activity, s.stuck, s.permission_mode, s.archived, s.queue_paused, s.worktree_id, s.cwd, s.message_count, s.turns, s.tokens,
       s.spent AS cost, s.seconds,
       coalesce((SELECT substr(t.prompt, 1, 200) FROM tasks t WHERE t.session_id = s.id ORDER BY t.position LIMIT 1), '')
         AS first_prompt,
       (SELECT count(*) FROM tasks t WHERE t.session_id = s.id AND t.ended_at IS NULL AND t.status = 'queued') AS queued,
       (SELECT count(*) FROM tasks t JOIN approvals a ON a.task_id = t.id
         WHERE t.session_id = s.id AND t.ended_at IS NULL AND a.status = 'pending') AS asking,
       (SELECT count(*) FROM callbacks c WHERE c.parent_session_id = s.id AND c.state = 'held') AS held,
       EXISTS (SELECT 1 FROM unread u WHERE u.session_id = s.id) AS unread,
       coalesce((SELECT t.status = 'failed' FROM tasks t WHERE t.session_id = s.id AND t.started_at IS NOT NULL
                 ORDER BY t.started_at DESC, t.position DESC LIMIT 1), FALSE) AS failed,
       s.created_by->>'kind' AS created_by,
       coalesce((SELECT t.source_session_id IS NOT NULL FROM tasks t WHERE t.session_id = s.id AND t.started_at IS NOT NULL
                 ORDER BY t.started_at DESC, t.position DESC LIMIT 1),
                (SELECT t.source_session_id IS NOT NULL FROM tasks t WHERE t.session_id = s.id ORDER BY t.position LIMIT 1),
                FALSE) AS prompted_by_agent,
       s.created_at, s.updated_at, s.ended_at{more}
FROM sessions s WHERE {where} ORDER BY s.created_at, s.id

-- name: titles
-- Lists the titles of a tree's sessions.
SELECT title FROM sessions WHERE root_session_id = :root

-- name: below
-- Returns a session and all its descendants, deepest last.
WITH RECURSIVE below (id, level) AS (
    SELECT s.id, 0 FROM sessions s WHERE s.id = :id
    UNION
    SELECT c.id, b.level + 1 FROM sessions c JOIN below b
        ON c.parent_session_id = b.id OR (c.forked_from_session_id = b.id AND c.parent_session_id IS NULL)
)
SELECT s.* FROM sessions s JOIN (SELECT id, max(level) AS level FROM below GROUP BY id) b ON b.id = s.id
ORDER BY b.level, s.created_at, s.id

-- name: used
-- Sums a tree's usage; a session that reports no cost counts as zero.
SELECT count(*) AS sessions, CAST(coalesce(sum(turns), 0) AS BIGINT) AS turns,
       CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens,
       coalesce(sum(spent), 0) AS cost, coalesce(sum(seconds), 0) AS seconds
FROM sessions WHERE root_session_id = :root

-- name: waits
-- Lists when a task waited for people's approvals, from request to decision, or for the end of a limit, in that order. Calls of Bough's own tools
-- and connections do not count, because they wait and not the turn.
SELECT asked_at, answered_at FROM (
    SELECT created_at AS asked_at, coalesce(decided_at, updated_at) AS answered_at FROM approvals
    WHERE task_id = :task_id AND tool_kind NOT IN :other_kinds
    UNION ALL
    SELECT parked_at, coalesce(resumed_at, :now) FROM task_parks WHERE task_id = :task_id
) waits ORDER BY asked_at, answered_at

-- name: count_turn
-- Adds an ended turn's usage.
UPDATE sessions SET turns = turns + 1, tokens = tokens + :tokens, seconds = seconds + :seconds, spent = spent + :cost
WHERE id = :id

-- name: budget
-- Returns a tree's budget.
SELECT * FROM trees WHERE root_session_id = :root

-- name: forget
-- Keeps a deleted session's usage in its tree's budget.
UPDATE trees SET base_tokens = base_tokens - :tokens, base_cost = base_cost - :cost, base_turns = base_turns - :turns,
    base_seconds = base_seconds - :seconds WHERE root_session_id = :root

-- name: under_way
-- Counts the turns of a tree before a task: those sent, and those that started earlier.
SELECT count(*) FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE s.root_session_id = :root AND t.ended_at IS NULL AND t.id <> :task_id
  AND (t.status IN ('running', 'waiting_permission', 'stopping') AND t.sent_attempt > 0
    OR t.status = 'dispatching' AND (t.started_at < :started_at OR t.started_at = :started_at AND t.id < :task_id))

-- name: set_budget
-- Sets a tree's budget, counted from now.
INSERT INTO trees (root_session_id, max_tokens, max_cost, max_turns, max_minutes, base_tokens, base_cost, base_turns,
                   base_seconds, attended_at, created_at, updated_at)
VALUES (:root, :max_tokens, :max_cost, :max_turns, :max_minutes, :base_tokens, :base_cost, :base_turns, :base_seconds,
        :now, :now, :now)
ON CONFLICT (root_session_id) DO UPDATE SET max_tokens = :max_tokens, max_cost = :max_cost, max_turns = :max_turns,
    max_minutes = :max_minutes, base_tokens = :base_tokens, base_cost = :base_cost, base_turns = :base_turns,
    base_seconds = :base_seconds, updated_at = :now
RETURNING *

-- name: attend
-- Records that a person lets a tree continue by itself.
INSERT INTO trees (root_session_id, base_tokens, base_cost, base_turns, base_seconds, attended_at, created_at, updated_at)
VALUES (:root, 0, 0, 0, 0, :now, :now, :now)
ON CONFLICT (root_session_id) DO UPDATE SET attended_at = :now, updated_at = :now

-- name: unattended
-- Counts the turns that agents caused or steered in a tree since a person last prompted it, decided about one of its
-- calls or let it continue. The outcome of a call is a turn that its agent caused; a nudge counts as neither.
SELECT count(*) FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE s.root_session_id = :root AND (t.source_session_id IS NOT NULL OR t.source = 'callback')
  AND (t.started_at IS NOT NULL OR t.steers_task_id IS NOT NULL AND t.attempt > 0)
  AND t.created_at > coalesce((
      SELECT max(p.created_at) FROM tasks p JOIN sessions r ON r.id = p.session_id
      WHERE r.root_session_id = :root AND p.source_session_id IS NULL AND p.source <> 'callback' AND NOT p.nudge
        AND NOT p.outside), '')
  AND coalesce(t.started_at, t.created_at) > coalesce((SELECT attended_at FROM trees WHERE root_session_id = :root), '')

-- name: at_work
-- Lists a tree's sessions with tasks that have not ended, and how many of those are only queued.
SELECT t.session_id, count(*) AS tasks,
       CAST(sum(CASE WHEN t.status = 'queued' THEN 1 ELSE 0 END) AS BIGINT) AS queued
FROM tasks t JOIN sessions s ON s.id = t.session_id
WHERE s.root_session_id = :root AND t.ended_at IS NULL GROUP BY t.session_id ORDER BY t.session_id

-- name: ends_of_task
-- Returns the first and last position of a task's messages.
SELECT min(position) AS first, max(position) AS last FROM messages WHERE task_id = :task_id AND position < :queued_base

-- name: known_first
-- Lists the messages in a span, oldest first.
SELECT * FROM messages WHERE session_id = :session_id AND position > :low AND position < :high AND created_at <= :until
  AND (position < :task_first OR task_id IS NULL OR task_id = :task_id)
ORDER BY position LIMIT :limit

-- name: known_last
-- Lists the messages in a span, newest first.
SELECT * FROM messages WHERE session_id = :session_id AND position > :low AND position < :high AND created_at <= :until
  AND (position < :task_first OR task_id IS NULL OR task_id = :task_id)
ORDER BY position DESC LIMIT :limit

-- name: known_count
-- Counts the messages in a span.
SELECT count(*) FROM messages WHERE session_id = :session_id AND position > :low AND position < :high AND created_at <= :until
  AND (position < :task_first OR task_id IS NULL OR task_id = :task_id)

-- name: known_moments
-- Lists when messages in a span changed after a time.
SELECT updated_at FROM messages WHERE session_id = :session_id AND position > :low AND position < :high AND created_at <= :until
  AND (position < :task_first OR task_id IS NULL OR task_id = :task_id)
  AND updated_at > :since ORDER BY updated_at LIMIT :limit

-- name: known_changed
-- Lists the messages in a span that changed between two times.
SELECT * FROM messages WHERE session_id = :session_id AND position > :low AND position < :high AND created_at <= :until
  AND (position < :task_first OR task_id IS NULL OR task_id = :task_id)
  AND updated_at > :since AND updated_at <= :last ORDER BY position

-- name: takes_no_reports
-- Tells whether an agent must not be sent reports.
SELECT 1 FROM agents_without_reports WHERE agent = :agent

-- name: forget_agents_without_reports
-- Clears the list before it is written again.
DELETE FROM agents_without_reports

-- name: add_agent_without_reports
-- Adds an agent that must not be sent reports.
INSERT INTO agents_without_reports (agent) VALUES (:agent)
