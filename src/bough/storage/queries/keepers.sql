-- name: add
-- A keeper is about to be started for a session.
INSERT INTO keepers (id, session_id, ready, stored, has_modes, options, needs_history, made_of, token_hash,
                     created_at)
VALUES (:id, :session_id, FALSE, 0, FALSE, '[]', FALSE, :made_of, :token_hash, :now)

-- name: ready
-- Its agent has opened the conversation: from now on it can be found again.
UPDATE keepers SET ready = TRUE, stored = :stored, has_modes = :has_modes, options = :options,
                   needs_history = :needs_history, takes_images = :takes_images, takes_resources = :takes_resources
WHERE id = :id

-- name: stored
-- What the agent said up to this line is stored.
UPDATE keepers SET stored = :stored WHERE id = :id AND stored < :stored

-- name: told
-- The agent has been told what happened before it came.
UPDATE keepers SET needs_history = FALSE WHERE id = :id

-- name: all
-- All keepers that should be there.
SELECT * FROM keepers ORDER BY id

-- name: of_session
-- The keeper of a session, if one is or was there.
SELECT id FROM keepers WHERE session_id = :session_id

-- name: token_hash
-- By what the agent of an active session is known when it calls.
SELECT k.token_hash FROM keepers k JOIN sessions s ON s.id = k.session_id
WHERE k.session_id = :session_id AND s.status = 'active'

-- name: remove
-- A keeper is gone.
DELETE FROM keepers WHERE id = :id
