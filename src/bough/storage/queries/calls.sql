-- name: add
-- Writes a call down; nothing if its key is taken.
INSERT INTO calls (id, caller, session_id, task_id, tool, arguments, fingerprint, key, state, title, raises, granted,
                   approval_id, outcome, handed_at, answered_at, told_task_id, created_at, updated_at)
VALUES (:id, :caller, :session_id, :task_id, :tool, :arguments, :fingerprint, :key, :state, :title, :raises, FALSE,
        NULL, :outcome, NULL, NULL, NULL, :now, :now)
ON CONFLICT DO NOTHING RETURNING *

-- name: get
-- One call.
SELECT * FROM calls WHERE id = :id

-- name: keyed
-- The call that was made with a key.
SELECT * FROM calls WHERE caller = :caller AND tool = :tool AND key = :key

-- name: alike
-- Calls of the same caller with the same words whose outcome it has not been given, oldest first.
SELECT * FROM calls WHERE caller = :caller AND fingerprint = :fingerprint AND answered_at IS NULL
ORDER BY created_at, id

-- name: of_approval
-- The call that an approval is about.
SELECT * FROM calls WHERE approval_id = :approval_id

-- name: of_session
-- What a session has called, newest first.
SELECT * FROM calls WHERE session_id = :session_id ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count_of_session
-- How often a session has called.
SELECT count(*) FROM calls WHERE session_id = :session_id

-- name: ask
-- The call waits for an approval.
UPDATE calls SET approval_id = :approval_id, updated_at = :now WHERE id = :id RETURNING *

-- name: decide
-- A person, or policy, has decided; only what is asked changes.
UPDATE calls SET state = :state, granted = :granted, arguments = :arguments, outcome = :outcome, updated_at = :now
WHERE id = :id AND state = 'asked' RETURNING *

-- name: end
-- It has acted; the first outcome stays.
UPDATE calls SET state = :state, outcome = :outcome, updated_at = :now WHERE id = :id AND state = 'acting' RETURNING *

-- name: hand
-- The caller has a handle, and asks no more.
UPDATE calls SET handed_at = :now, updated_at = :now WHERE id = :id AND state IN ('asked', 'acting') RETURNING *

-- name: take_up
-- Somebody waits for it again.
UPDATE calls SET handed_at = NULL, updated_at = :now WHERE id = :id AND state IN ('asked', 'acting') RETURNING *

-- name: held
-- How many calls of a session wait for a person, with their callers.
SELECT count(*) FROM calls WHERE session_id = :session_id AND state = 'asked' AND handed_at IS NULL

-- name: unheld
-- Calls for which somebody waited.
SELECT * FROM calls WHERE state IN ('asked', 'acting') AND handed_at IS NULL AND approval_id IS NOT NULL
ORDER BY created_at, id

-- name: answered
-- The caller has the outcome.
UPDATE calls SET answered_at = :now, updated_at = :now
WHERE id = :id AND answered_at IS NULL AND state NOT IN ('asked', 'acting')

-- name: tell
-- The outcome is queued to the caller; once.
UPDATE calls SET told_task_id = :task_id, updated_at = :now WHERE id = :id AND told_task_id IS NULL RETURNING *

-- name: to_act
-- Calls that are to be carried out.
SELECT * FROM calls WHERE state = 'acting' ORDER BY created_at, id

-- name: untold
-- Calls that were asked about and decided, and of whose outcome their callers have not heard.
SELECT * FROM calls
WHERE approval_id IS NOT NULL AND answered_at IS NULL AND told_task_id IS NULL AND state NOT IN ('asked', 'acting')
ORDER BY created_at, id

-- name: asked_by
-- Open questions about calls that a session has made.
SELECT a.* FROM approvals a JOIN calls c ON c.approval_id = a.id
WHERE c.session_id = :session_id AND c.state = 'asked' AND a.status = 'pending' ORDER BY a.created_at, a.id

-- name: prune
-- Forgets calls that ended before a moment.
DELETE FROM calls WHERE created_at < :before AND state NOT IN ('asked', 'acting')

-- name: made
-- A session has opened a tree.
INSERT INTO tree_makers (root_session_id, maker_session_id, maker_root_id) VALUES (:root, :maker, :maker_root)

-- name: maker
-- The session that has opened a tree, if one has.
SELECT maker_session_id FROM tree_makers WHERE root_session_id = :root

-- name: reach
-- The roots of the trees that sessions of a tree reach: their own, those that they opened, those that these opened.
WITH RECURSIVE reached (id) AS (
    SELECT root_session_id FROM (SELECT root_session_id FROM sessions WHERE root_session_id = :root LIMIT 1) own
    UNION
    SELECT m.root_session_id FROM tree_makers m JOIN reached r ON m.maker_root_id = r.id
)
SELECT id FROM reached ORDER BY id
