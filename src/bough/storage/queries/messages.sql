-- name: add
-- Stores a message.
INSERT INTO messages (id, session_id, task_id, position, role, content, created_at, updated_at)
VALUES (:id, :session_id, :task_id, :position, :role, :content, :now, :now) RETURNING *

-- name: get
-- One message.
SELECT * FROM messages WHERE id = :id

-- name: rewrite
-- Replaces what a message says.
UPDATE messages SET content = :content, updated_at = :now WHERE id = :id RETURNING *

-- name: enter
-- A queued prompt enters the conversation: it gets its real place, and its time is now.
UPDATE messages SET position = :position, created_at = :now, updated_at = :now
WHERE task_id = :task_id AND position >= :queued_base RETURNING *

-- name: edit_queued
-- Changes the text of a prompt that still waits.
UPDATE messages SET content = :content, updated_at = :now
WHERE task_id = :task_id AND position >= :queued_base RETURNING *

-- name: requeue
-- Gives a prompt that still waits another place among the waiting.
UPDATE messages SET position = :position, updated_at = :now
WHERE task_id = :task_id AND position >= :queued_base RETURNING *

-- name: all
-- The whole transcript of a session in order.
SELECT * FROM messages WHERE session_id = :session_id ORDER BY position

-- name: first
-- The oldest messages of a session after a position.
SELECT * FROM messages WHERE session_id = :session_id AND position > :position ORDER BY position LIMIT :limit

-- name: last
-- The newest messages of a session before a position, newest first.
SELECT * FROM messages WHERE session_id = :session_id AND position < :position ORDER BY position DESC LIMIT :limit

-- name: since
-- Messages of a session that changed after a moment, in order of the conversation.
SELECT * FROM messages WHERE session_id = :session_id AND updated_at > :since ORDER BY position LIMIT :limit

-- name: of_task
-- What one turn said.
SELECT * FROM messages WHERE task_id = :task_id ORDER BY position

-- name: remove_of_session
-- Removes the transcript of a session.
DELETE FROM messages WHERE session_id = :session_id
