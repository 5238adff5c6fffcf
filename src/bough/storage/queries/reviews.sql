-- name: add
-- Adds a comment to a person's draft.
INSERT INTO review_comments (id, person, user_id, author, subject_kind, subject_id, worktree_id, session_id, path, side,
                             start_line, end_line, object, message_id, message_kind, quote, body, created_at, updated_at)
VALUES (:id, :person, :user_id, :author, :subject_kind, :subject_id, :worktree_id, :session_id, :path, :side,
        :start_line, :end_line, :object, :message_id, :message_kind, :quote, :body, :now, :now)
RETURNING *

-- name: get
-- Returns one comment.
SELECT * FROM review_comments WHERE id = :id

-- name: of_subject
-- Returns a person's draft and everybody's sent comments about a subject, newest first.
SELECT * FROM review_comments
WHERE subject_kind = :kind AND subject_id = :id AND (person = :person OR sent_at IS NOT NULL)
ORDER BY created_at DESC, id DESC LIMIT :limit

-- name: draft
-- Returns a person's draft about a subject, in the order of files and lines.
SELECT * FROM review_comments
WHERE subject_kind = :kind AND subject_id = :id AND person = :person AND sent_at IS NULL
ORDER BY path IS NULL, path, start_line, created_at, id

-- name: edit
-- Changes the text of a comment that was not sent.
UPDATE review_comments SET body = :body, updated_at = :now WHERE id = :id AND sent_at IS NULL RETURNING *

-- name: remove
-- Deletes a comment that was not sent.
DELETE FROM review_comments WHERE id = :id AND sent_at IS NULL RETURNING *

-- name: sent
-- Marks a comment as sent in a prompt.
UPDATE review_comments SET task_id = :task_id, sent_at = :now, updated_at = :now WHERE id = :id AND sent_at IS NULL

-- name: statuses
-- Returns the status of each task that comments were sent in.
SELECT id, status FROM tasks WHERE id IN :ids

-- name: viewed
-- Returns the files of a subject that a person has viewed, with the versions.
SELECT path, hash FROM review_viewed WHERE person = :person AND subject_kind = :kind AND subject_id = :id

-- name: view
-- Marks a version of a file as viewed.
INSERT INTO review_viewed (person, user_id, subject_kind, subject_id, worktree_id, session_id, path, hash, viewed_at)
VALUES (:person, :user_id, :subject_kind, :subject_id, :worktree_id, :session_id, :path, :hash, :now)
ON CONFLICT (person, subject_kind, subject_id, path) DO UPDATE SET hash = excluded.hash, viewed_at = excluded.viewed_at

-- name: unview
-- Removes the mark of a viewed file.
DELETE FROM review_viewed WHERE person = :person AND subject_kind = :kind AND subject_id = :id AND path = :path
