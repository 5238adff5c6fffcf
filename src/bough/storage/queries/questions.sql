-- name: add
-- Keeps a question as its agent asked it.
INSERT INTO questions (approval_id, form) VALUES (:approval_id, :form)

-- name: get
-- Returns a question, unless its turn is over.
SELECT * FROM questions WHERE approval_id = :approval_id

-- name: answer
-- Keeps the answer that the agent receives.
UPDATE questions SET answer = :answer WHERE approval_id = :approval_id

-- name: waiting
-- Lists the pending questions of a session, oldest first.
SELECT a.* FROM approvals a JOIN questions q ON q.approval_id = a.id
WHERE a.session_id = :session_id AND a.status = 'pending' ORDER BY a.created_at, a.id

-- name: forget
-- Deletes what only the agent needed, because its turn is over.
DELETE FROM questions WHERE approval_id IN (SELECT id FROM approvals WHERE task_id = :task_id)
