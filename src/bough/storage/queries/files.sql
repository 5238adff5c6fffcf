-- name: add
-- Adds a file attached to a prompt.
INSERT INTO files (id, task_id, position, name, mime_type, size, data, created_at)
VALUES (:id, :task_id, :position, :name, :mime_type, :size, :data, :now)

-- name: get
-- Returns one file with its content.
SELECT id, name, mime_type, size, data FROM files WHERE id = :id

-- name: of_task
-- Lists a prompt's files in order, with their contents.
SELECT id, name, mime_type, size, data FROM files WHERE task_id = :task_id ORDER BY position

-- name: infos
-- Returns the files of a prompt in order.
SELECT id, name, mime_type, size FROM files WHERE task_id = :task_id ORDER BY position

-- name: beginnings
-- Returns the beginnings of a prompt's text files, in order.
SELECT id, substr(data, 1, :signs) AS data FROM files WHERE task_id = :task_id AND mime_type NOT IN :images
ORDER BY position
