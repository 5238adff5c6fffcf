-- name: add
-- Add a box.
INSERT INTO boxes (id, label) VALUES (:id, :label);

-- name: add_whole
-- Add a box with every column and return it.
INSERT INTO boxes (id, label, hits, cost, open, note) VALUES (:id, :label, :hits, :cost, :open, :note)
RETURNING id, label, hits, cost, open, note;

-- name: get
-- One box by its id.
SELECT id, label, hits, cost, open, note FROM boxes WHERE id = :id;

-- name: page
-- The boxes in order, with a condition from code.
SELECT id, label, hits, cost, open, note FROM boxes {where} ORDER BY id LIMIT :limit;

-- name: among
-- The ids of those boxes that exist.
SELECT id FROM boxes WHERE id IN :ids ORDER BY id;

-- name: ids
-- Every id, in byte order.
SELECT id FROM boxes ORDER BY id;

-- name: upsert
-- Add a box, or count one more hit.
INSERT INTO boxes (id, label, hits) VALUES (:id, :label, 1)
ON CONFLICT (id) DO UPDATE SET hits = boxes.hits + 1 RETURNING hits;

-- name: count
-- How many boxes there are.
SELECT COUNT(*) FROM boxes;

-- name: totals
-- Sums, which are integers and floats on both databases.
SELECT SUM(hits), COALESCE(SUM(cost), 0) FROM boxes;

-- name: hit
-- Count one hit in one statement.
UPDATE boxes SET hits = hits + 1 WHERE id = :id;

-- name: hits
-- The hits of a box.
SELECT hits FROM boxes WHERE id = :id;

-- name: set_hits
-- Set the hits of a box.
UPDATE boxes SET hits = :hits WHERE id = :id;

-- name: note_like
-- Boxes whose note, as text, is like the pattern.
SELECT id FROM boxes WHERE CAST(note AS TEXT) LIKE :pattern ORDER BY id;

-- name: label_like
-- Boxes whose label is like the pattern.
SELECT id FROM boxes WHERE label LIKE :pattern ORDER BY id;

-- name: add_thing
-- Put a thing into a box.
INSERT INTO things (id, box_id, body) VALUES (:id, :box_id, :body);

-- name: body
-- The body of a thing.
SELECT body FROM things WHERE id = :id;

-- name: remove
-- Remove every box whose id is not the given one.
DELETE FROM boxes WHERE id <> :id;

-- name: slow
-- Count to the given number, to keep the database busy.
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :n)
SELECT COUNT(*) FROM numbers;
