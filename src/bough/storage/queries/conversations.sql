-- name: claim
-- Records that a session holds an agent's conversation; does nothing if another one does.
INSERT INTO imported_conversations (agent, conversation_id, session_id, imported_at)
VALUES (:agent, :conversation_id, :session_id, :now) ON CONFLICT (agent, conversation_id) DO NOTHING

-- name: owners
-- Lists which sessions hold some of an agent's conversations: those that were imported, and Bough's own.
SELECT conversation_id, session_id FROM imported_conversations WHERE agent = :agent AND conversation_id IN :ids
UNION
SELECT p.agent_session_id, s.id FROM session_private p JOIN sessions s ON s.id = p.session_id
WHERE s.agent = :agent AND p.agent_session_id IN :ids

-- name: add_turns
-- Adds turns that took place outside of Bough.
INSERT INTO tasks (id, session_id, position, prompt, source, source_session_id, status, attempt, sent_attempt, held,
                   stop_reason, usage, tool_use_count, created_at, updated_at, started_at, ended_at, outside)
VALUES (:id, :session_id, :position, :prompt, 'user', NULL, 'completed', 1, 1, FALSE,
        'end_turn', :usage, :tool_use_count, :now, :now, :now, :now, TRUE)
RETURNING *

-- name: take_task_positions
-- Reserves positions in the order of a session's tasks; the first reserved one is the result minus the count.
UPDATE session_private SET next_task = next_task + :count WHERE session_id = :id RETURNING next_task

-- name: sent
-- Lists the prompts that a session's agent knows, in the order of their turns.
SELECT prompt FROM tasks WHERE session_id = :session_id AND sent_attempt > 0 ORDER BY started_at, position

-- name: known
-- Returns the agent's id of a session's conversation, and how far Bough knows its file.
SELECT agent_session_id, conversation_mark, env FROM session_private WHERE session_id = :session_id

-- name: mark
-- Stores how far Bough knows the agent's own file of a conversation.
UPDATE session_private SET conversation_mark = :mark WHERE session_id = :session_id
