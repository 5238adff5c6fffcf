-- name: due
-- Lists what is not indexed yet: new changes first, then what existed before search did.
SELECT id, message_id, session_id FROM search_due WHERE {which} ORDER BY id LIMIT :limit

-- name: backlog
-- Tells whether something that existed before search did is not indexed yet.
SELECT 1 FROM search_due WHERE id < 0 LIMIT 1

-- name: unindexed
-- Tells whether anything is not indexed yet.
SELECT 1 FROM search_due LIMIT 1

-- name: done
-- Removes an item from the list of what to index.
DELETE FROM search_due WHERE id IN :ids

-- name: content
-- Returns a message's content and session.
SELECT content, session_id FROM messages WHERE id = :id

-- name: title
-- Returns a session's title.
SELECT title, description FROM sessions WHERE id = :id

-- name: put_message
-- Adds or updates a message's entry; returns nothing if the message is gone.
INSERT INTO search_entries (message_id, session_id, role, type, created_at)
SELECT id, session_id, role, :type, created_at FROM messages WHERE id = :id
ON CONFLICT (message_id) DO UPDATE SET type = excluded.type, created_at = excluded.created_at RETURNING id

-- name: put_session
-- Adds a session title's entry; returns nothing if the session is gone.
INSERT INTO search_entries (session_id, type, created_at) SELECT id, 'session', created_at FROM sessions WHERE id = :id
ON CONFLICT (session_id) WHERE message_id IS NULL DO UPDATE SET type = excluded.type RETURNING id

-- name: put_words_sqlite
-- Stores the words of an entry.
INSERT OR REPLACE INTO search_index (rowid, words) VALUES (:id, :words)

-- name: put_words_postgres
-- Stores the words of an entry.
INSERT INTO search_index (rowid, words, vector) VALUES (:id, :words, CAST(CAST(:vector AS TEXT) AS TSVECTOR))
ON CONFLICT (rowid) DO UPDATE SET words = excluded.words, vector = excluded.vector

-- name: remove_message
-- Deletes the entry of a message without text.
DELETE FROM search_entries WHERE message_id = :id

-- name: remove_session
-- Deletes the entry of a session without a title.
DELETE FROM search_entries WHERE session_id = :id AND message_id IS NULL

-- name: find
-- Returns the best of the newest matches and their number. SQLite ranks while matching, PostgreSQL afterwards.
SELECT id, {rank} AS score, COUNT(*) OVER () AS total FROM (
    SELECT e.id AS id, e.created_at AS created_at, {score} AS score
    FROM search_index JOIN search_entries e ON e.id = search_index.rowid {joins}
    WHERE {match} {where} ORDER BY search_index.rowid DESC LIMIT :most
) AS found ORDER BY 2 DESC, created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: hits
-- Returns the messages and sessions of entries.
SELECT e.id AS id, e.message_id AS message_id, e.session_id AS session_id, e.type AS type, e.created_at AS created_at,
    m.task_id AS task_id, m.position AS position, m.role AS role, m.content AS content, s.title AS session_title,
    s.description AS description, s.agent AS agent, s.repo_id AS repo_id, s.worktree_id AS worktree_id,
    s.root_session_id AS root_session_id
FROM search_entries e JOIN sessions s ON s.id = e.session_id LEFT JOIN messages m ON m.id = e.message_id
WHERE e.id IN :ids
