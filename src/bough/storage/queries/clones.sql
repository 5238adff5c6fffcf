-- name: add
-- Adds a clone that begins; returns nothing if another one has the same target.
INSERT INTO clones (id, address, path, name, state, phase, started_by, created_at)
VALUES (:id, :address, :path, :name, 'cloning', 'connecting', :started_by, :now)
ON CONFLICT DO NOTHING
RETURNING *

-- name: get
-- Returns one clone.
SELECT * FROM clones WHERE id = :id

-- name: all
-- Lists all clones, newest first.
SELECT * FROM clones ORDER BY id DESC

-- name: under_way
-- Lists the clones that have not ended, oldest first.
SELECT * FROM clones WHERE state = 'cloning' ORDER BY id

-- name: count_under_way
-- Counts the clones that have not ended.
SELECT count(*) FROM clones WHERE state = 'cloning'

-- name: progress
-- Stores how far a clone is; returns nothing if it has ended.
UPDATE clones SET phase = :phase, percent = :percent, received = :received
WHERE id = :id AND state = 'cloning'
RETURNING *

-- name: end
-- Stores the end of a clone; returns nothing if it is stored already.
UPDATE clones SET state = :state, error = :error, repo_id = :repo_id, percent = NULL, ended_at = :now
WHERE id = :id AND state = 'cloning'
RETURNING *

-- name: remove
-- Deletes a clone that has ended; returns nothing if it is gone already.
DELETE FROM clones WHERE id = :id AND state <> 'cloning' RETURNING *
