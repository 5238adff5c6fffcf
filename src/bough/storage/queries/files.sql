-- name: add
-- Keeps a file that goes with a prompt.
INSERT INTO files (id, task_id, position, name, mime_type, size, data, created_at)
VALUES (:id, :task_id, :position, :name, :mime_type, :size, :data, :now)

-- name: get
-- One file with what is in it.
SELECT id, name, mime_type, size, data FROM files WHERE id = :id

-- name: of_task
-- The files of a prompt in order, with what is in them.
SELECT id, name, mime_type, size, data FROM files WHERE task_id = :task_id ORDER BY position

-- name: infos
-- The files of a prompt in order.
SELECT id, name, mime_type, size FROM files WHERE task_id = :task_id ORDER BY position

-- name: beginnings
-- How those files of a prompt that are no pictures begin, in order.
SELECT id, substr(data, 1, :signs) AS data FROM files WHERE task_id = :task_id AND mime_type NOT IN :images
ORDER BY position
