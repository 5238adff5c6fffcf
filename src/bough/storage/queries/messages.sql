-- name: add
-- Stores a message.
INSERT INTO messages (id, session_id, task_id, position, role, content, created_at, updated_at)
VALUES (:id, :session_id, :task_id, :position, :role, :content, :now, :now) RETURNING *

-- name: add_all
-- Stores many messages; what is there already, because a commit was not known to have worked, is written again.
INSERT INTO messages (id, session_id, task_id, position, role, content, created_at, updated_at) VALUES {rows}
ON CONFLICT (id) DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at

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
-- The oldest messages of a session between two positions.
SELECT * FROM messages WHERE session_id = :session_id AND position > :low AND position < :high
ORDER BY position LIMIT :limit

-- name: last
-- The newest messages of a session between two positions, newest first.
SELECT * FROM messages WHERE session_id = :session_id AND position > :low AND position < :high
ORDER BY position DESC LIMIT :limit

-- name: moment
-- When the last of the next so many changes after a moment was; none if there are fewer.
SELECT updated_at FROM messages
WHERE session_id = :session_id AND updated_at > :since AND position > :low AND position < :high
ORDER BY updated_at LIMIT 1 OFFSET :skip

-- name: changed
-- Messages of a session that changed after one moment and not after another, in the order of their changes.
SELECT * FROM messages
WHERE session_id = :session_id AND updated_at > :since AND updated_at <= :until
  AND position > :low AND position < :high
ORDER BY updated_at, position

-- name: of_task
-- What one turn said.
SELECT * FROM messages WHERE task_id = :task_id ORDER BY position

-- name: remove_of_session
-- Removes the transcript of a session.
DELETE FROM messages WHERE session_id = :session_id
