-- name: add
-- Adds a call; returns nothing if its key is already used.
INSERT INTO calls (id, caller, session_id, task_id, tool, arguments, fingerprint, key, state, title, raises, granted,
                   approval_id, outcome, handed_at, answered_at, told_task_id, created_at, updated_at, token_id)
VALUES (:id, :caller, :session_id, :task_id, :tool, :arguments, :fingerprint, :key, :state, :title, :raises, FALSE,
        NULL, :outcome, NULL, NULL, NULL, :now, :now, :token_id)
ON CONFLICT DO NOTHING RETURNING *

-- name: get
-- Returns one call.
SELECT * FROM calls WHERE id = :id

-- name: keyed
-- Returns the call that was made with a key.
SELECT * FROM calls WHERE caller = :caller AND tool = :tool AND key = :key

-- name: alike
-- Lists the caller's identical calls whose outcome it has not received, oldest first.
SELECT * FROM calls WHERE caller = :caller AND fingerprint = :fingerprint AND answered_at IS NULL
ORDER BY created_at, id

-- name: of_approval
-- Returns the call that an approval is about.
SELECT * FROM calls WHERE approval_id = :approval_id

-- name: of_session
-- Lists a session's calls, newest first.
SELECT * FROM calls WHERE session_id = :session_id ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- name: count_of_session
-- Counts a session's calls.
SELECT count(*) FROM calls WHERE session_id = :session_id

-- name: ask
-- Marks a call as waiting for an approval.
UPDATE calls SET approval_id = :approval_id, updated_at = :now WHERE id = :id RETURNING *

-- name: decide
-- Records the decision on a call that waits for one.
UPDATE calls SET state = :state, granted = :granted, arguments = :arguments, outcome = :outcome, updated_at = :now
WHERE id = :id AND state = 'asked' RETURNING *

-- name: end
-- Stores a call's outcome. The first outcome stays.
UPDATE calls SET state = :state, outcome = :outcome, updated_at = :now WHERE id = :id AND state = 'acting' RETURNING *

-- name: hand
-- Marks that the caller received a handle instead of the outcome.
UPDATE calls SET handed_at = :now, updated_at = :now WHERE id = :id AND state IN ('asked', 'acting') RETURNING *

-- name: take_up
-- Marks that a caller waits for the call again.
UPDATE calls SET handed_at = NULL, updated_at = :now WHERE id = :id AND state IN ('asked', 'acting') RETURNING *

-- name: held
-- Counts a session's calls that wait for a person while their caller waits.
SELECT count(*) FROM calls WHERE session_id = :session_id AND state = 'asked' AND handed_at IS NULL

-- name: unheld
-- Lists calls that a caller was waiting for.
SELECT * FROM calls WHERE state IN ('asked', 'acting') AND handed_at IS NULL AND approval_id IS NOT NULL
ORDER BY created_at, id

-- name: answered
-- Marks the outcome as received by the caller.
UPDATE calls SET answered_at = :now, updated_at = :now
WHERE id = :id AND answered_at IS NULL AND state NOT IN ('asked', 'acting')

-- name: tell
-- Marks the outcome as queued to the caller, once.
UPDATE calls SET told_task_id = :task_id, updated_at = :now WHERE id = :id AND told_task_id IS NULL RETURNING *

-- name: to_act
-- Lists calls that are due to be carried out.
SELECT * FROM calls WHERE state = 'acting' ORDER BY created_at, id

-- name: untold
-- Lists approved or denied calls whose callers have not received the outcome.
SELECT * FROM calls
WHERE approval_id IS NOT NULL AND answered_at IS NULL AND told_task_id IS NULL AND state NOT IN ('asked', 'acting')
ORDER BY created_at, id

-- name: asked_by
-- Lists pending approvals of a session's calls.
SELECT a.* FROM approvals a JOIN calls c ON c.approval_id = a.id
WHERE c.session_id = :session_id AND c.state = 'asked' AND a.status = 'pending' ORDER BY a.created_at, a.id

-- name: prune
-- Deletes calls that ended before a time.
DELETE FROM calls WHERE created_at < :before AND state NOT IN ('asked', 'acting')

-- name: made
-- Records that a session created a tree.
INSERT INTO tree_makers (root_session_id, maker_session_id, maker_root_id) VALUES (:root, :maker, :maker_root)

-- name: maker
-- Returns the session that created a tree, if any.
SELECT maker_session_id FROM tree_makers WHERE root_session_id = :root

-- name: reach
-- Returns the roots within a tree's reach: its own, trees created from it, and trees created from those.
WITH RECURSIVE reached (id) AS (
    SELECT root_session_id FROM (SELECT root_session_id FROM sessions WHERE root_session_id = :root LIMIT 1) own
    UNION
    SELECT m.root_session_id FROM tree_makers m JOIN reached r ON m.maker_root_id = r.id
)
SELECT id FROM reached ORDER BY id
