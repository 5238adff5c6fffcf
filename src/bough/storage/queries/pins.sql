-- name: add
-- Pins a session for a person; does nothing if it is pinned already.
INSERT INTO pins (person, user_id, session_id, pinned_at) VALUES (:person, :user_id, :session_id, :now)
ON CONFLICT (person, session_id) DO NOTHING

-- name: remove
-- Removes a person's pin.
DELETE FROM pins WHERE person = :person AND session_id = :session_id

-- name: count
-- Counts the pins that a person sees: those of archived sessions are not shown.
SELECT count(*) FROM pins p JOIN sessions s ON s.id = p.session_id WHERE p.person = :person AND NOT s.archived

-- name: of_person
-- Lists the sessions that a person has pinned, except archived ones, in the order of pinning.
SELECT p.session_id FROM pins p JOIN sessions s ON s.id = p.session_id
WHERE p.person = :person AND NOT s.archived ORDER BY p.pinned_at, p.session_id LIMIT :limit

-- name: live
-- Lists active sessions by last activity. Side questions are shown where they were asked.
SELECT id FROM sessions WHERE status = 'active' AND NOT archived AND kind <> 'btw'
ORDER BY active_at DESC, id DESC LIMIT :limit

-- name: count_live
-- Counts them.
SELECT count(*) FROM sessions WHERE status = 'active' AND NOT archived AND kind <> 'btw'

-- name: asking
-- Lists sessions that wait for the answer to an approval, longest wait first.
SELECT session_id FROM approvals WHERE status = 'pending' GROUP BY session_id
ORDER BY min(created_at), session_id LIMIT :limit
