-- name: take_cursors
-- Reserves cursors; the row stays locked until commit, so cursors follow the order of commits on PostgreSQL too.
UPDATE counters SET value = value + :count WHERE name = 'event' RETURNING value

-- name: add_all
-- Stores events.
INSERT INTO events (cursor, type, session_id, object_id, data, created_at) VALUES {rows}

-- name: after
-- The events after a cursor, in order.
SELECT cursor, type, session_id, object_id, data, created_at FROM events
WHERE cursor > :cursor ORDER BY cursor LIMIT :limit

-- name: after_in_session
-- The events of one session after a cursor, in order.
SELECT cursor, type, session_id, object_id, data, created_at FROM events
WHERE session_id = :session_id AND cursor > :cursor ORDER BY cursor LIMIT :limit

-- name: newest
-- The newest cursor that was given out, whether or not its event is still kept.
SELECT value FROM counters WHERE name = 'event'

-- name: oldest
-- The oldest cursor whose event is still kept.
SELECT min(cursor) FROM events

-- name: prune
-- Forgets events up to a cursor.
DELETE FROM events WHERE cursor <= :cursor

-- name: remove_of_session
-- Forgets all that was told of a session.
DELETE FROM events WHERE session_id = :session_id
