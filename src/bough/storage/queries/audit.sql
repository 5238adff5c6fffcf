-- name: take_numbers
-- Reserves numbers. The row stays locked until commit, so numbers follow commit order on PostgreSQL too.
UPDATE counters SET value = value + :count WHERE name = 'audit' RETURNING value

-- name: add_all
-- Adds entries.
INSERT INTO audit (number, at, kind, user_id, user_name, role, caller_session_id, door, token_id, action, session_id,
                   subject_id, details)
VALUES {rows}

-- name: newest
-- Lists entries, newest first.
SELECT * FROM audit WHERE {where} ORDER BY number DESC LIMIT :limit OFFSET :offset

-- name: after
-- Lists the entries after a number, oldest first.
SELECT * FROM audit WHERE number > :after AND {where} ORDER BY number LIMIT :limit OFFSET :offset

-- name: count
-- Counts entries.
SELECT count(*) FROM audit WHERE {where}

-- name: last_before
-- Returns the number of the last entry before a time, if any. Clocks can be set back, so the first later entry counts.
SELECT max(number) FROM audit
WHERE number < COALESCE((SELECT min(number) FROM audit WHERE at >= :before), (SELECT max(number) + 1 FROM audit))

-- name: let_prune
-- Lets entries up to a number be removed.
UPDATE counters SET value = :number WHERE name = 'audit_pruned'

-- name: prune
-- Removes the entries up to a number that `let_prune` has named.
DELETE FROM audit WHERE number <= :number
