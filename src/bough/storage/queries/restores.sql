-- name: add
-- Records that a restore is about to begin.
INSERT INTO restores (id, checkpoint_id, paths, caller, begun, created_at)
VALUES (:id, :checkpoint_id, :paths, :caller, :begun, :created_at) ON CONFLICT (id) DO NOTHING

-- name: begin
-- Records that files are about to be changed.
UPDATE restores SET begun = TRUE WHERE id = :id

-- name: all
-- Lists restores that have not ended, oldest first.
SELECT * FROM restores ORDER BY created_at, id

-- name: remove
-- Records that a restore has ended.
DELETE FROM restores WHERE id = :id
