-- name: add
-- Adds a keeper that is about to start for a session.
INSERT INTO keepers (id, session_id, ready, stored, has_modes, options, needs_history, made_of, token_hash, secrets,
                     created_at)
VALUES (:id, :session_id, FALSE, 0, FALSE, '[]', FALSE, :made_of, :token_hash, :secrets, :now)

-- name: ready
-- Records that the agent opened the conversation, so that the keeper can be found again.
UPDATE keepers SET ready = TRUE, stored = :stored, has_modes = :has_modes, options = :options,
                   needs_history = :needs_history, takes_images = :takes_images, takes_resources = :takes_resources
WHERE id = :id

-- name: stored
-- Records that everything up to this line is stored.
UPDATE keepers SET stored = :stored WHERE id = :id AND stored < :stored

-- name: withhold
-- Stores the ends of growing messages that may become secret values.
UPDATE keepers SET withheld = :withheld WHERE id = :id

-- name: withheld
-- Returns the ends of growing messages that may become secret values.
SELECT withheld FROM keepers WHERE session_id = :session_id

-- name: told
-- Records that the agent has received the earlier conversation.
UPDATE keepers SET needs_history = FALSE WHERE id = :id

-- name: all
-- Lists all keepers that should exist.
SELECT * FROM keepers ORDER BY id

-- name: of_session
-- Returns a session's keeper, if it has or had one.
SELECT id FROM keepers WHERE session_id = :session_id

-- name: token_hash
-- Finds the active session with an agent token.
SELECT k.token_hash FROM keepers k JOIN sessions s ON s.id = k.session_id
WHERE k.session_id = :session_id AND s.status = 'active'

-- name: remove
-- Deletes a keeper.
DELETE FROM keepers WHERE id = :id
