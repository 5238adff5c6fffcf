-- name: add
-- Stores a message.
INSERT INTO messages (id, session_id, task_id, position, role, content, created_at, updated_at)
VALUES (:id, :session_id, :task_id, :position, :role, :content, :now, :now) RETURNING *

-- name: add_all
-- Stores many messages; rewrites those that an unconfirmed commit already stored.
INSERT INTO messages (id, session_id, task_id, position, role, content, created_at, updated_at) VALUES {rows}
ON CONFLICT (id) DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at

-- name: get
-- Returns one message.
SELECT * FROM messages WHERE id = :id

-- name: newest
-- Returns when a message of a session last changed.
SELECT max(updated_at) FROM messages WHERE session_id = :session_id

-- name: newest_of_task
-- Returns the time of the last change of a turn's messages.
SELECT max(updated_at) FROM messages WHERE task_id = :task_id

-- name: newest_of_origin
-- Returns when a message of the session that a session was forked from last changed.
SELECT max(updated_at) FROM messages
WHERE session_id = (SELECT forked_from_session_id FROM sessions WHERE id = :session_id)

-- name: rewrite
-- Replaces a message's content.
UPDATE messages SET content = :content, updated_at = :now WHERE id = :id RETURNING *

-- name: enter
-- Moves a queued prompt into the conversation, with its position and the current time, as part of the turn that sends it.
UPDATE messages SET position = :position, created_at = :now, updated_at = :now, task_id = :carrier_id
WHERE task_id = :task_id AND position >= :queued_base RETURNING *

-- name: edit_queued
-- Changes the text of a queued prompt.
UPDATE messages SET content = :content, updated_at = :now
WHERE task_id = :task_id AND position >= :queued_base RETURNING *

-- name: requeue
-- Moves a queued prompt within the queue.
UPDATE messages SET position = :position, updated_at = :now
WHERE task_id = :task_id AND position >= :queued_base RETURNING *

-- name: all
-- Returns a session's whole transcript in order.
SELECT * FROM messages WHERE session_id = :session_id ORDER BY position

-- name: first
-- Returns the oldest messages of a session between two positions.
SELECT * FROM messages WHERE session_id = :session_id AND position > :low AND position < :high
ORDER BY position LIMIT :limit

-- name: last
-- Returns the newest messages of a session between two positions, newest first.
SELECT * FROM messages WHERE session_id = :session_id AND position > :low AND position < :high
ORDER BY position DESC LIMIT :limit

-- name: moment
-- Returns the time of the last of the next changes after a time; nothing if there are fewer.
SELECT updated_at FROM messages
WHERE session_id = :session_id AND updated_at > :since AND position > :low AND position < :high
ORDER BY updated_at LIMIT 1 OFFSET :skip

-- name: changed
-- Lists messages that changed between two times, in that order.
SELECT * FROM messages
WHERE session_id = :session_id AND updated_at > :since AND updated_at <= :until
  AND position > :low AND position < :high
ORDER BY updated_at, position

-- name: of_task
-- Lists the messages of one turn.
SELECT * FROM messages WHERE task_id = :task_id ORDER BY position

-- name: remove_of_session
-- Deletes a session's transcript.
DELETE FROM messages WHERE session_id = :session_id

-- name: among
-- Returns those of some ids that belong to a stored message.
SELECT id FROM messages WHERE id IN :ids
