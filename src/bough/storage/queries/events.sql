-- name: take_cursors
-- Reserves cursors. The row stays locked until commit, so cursors follow commit order on PostgreSQL too.
UPDATE counters SET value = value + :count WHERE name = 'event' RETURNING value

-- name: add_all
-- Stores events.
INSERT INTO events (cursor, type, session_id, object_id, data, created_at) VALUES {rows}

-- name: after
-- Returns the events after a cursor, in order.
SELECT cursor, type, session_id, object_id, data, created_at FROM events
WHERE cursor > :cursor ORDER BY cursor LIMIT :limit

-- name: after_in_session
-- Returns the events of one session after a cursor, in order.
SELECT cursor, type, session_id, object_id, data, created_at FROM events
WHERE session_id = :session_id AND cursor > :cursor ORDER BY cursor LIMIT :limit

-- name: newest
-- Returns the newest cursor, whether or not its event still exists.
SELECT value FROM counters WHERE name = 'event'

-- name: oldest
-- Returns the oldest cursor whose event still exists.
SELECT min(cursor) FROM events

-- name: prune
-- Deletes events up to a cursor.
DELETE FROM events WHERE cursor <= :cursor

-- name: remove_of_session
-- Deletes all events of a session.
DELETE FROM events WHERE session_id = :session_id
