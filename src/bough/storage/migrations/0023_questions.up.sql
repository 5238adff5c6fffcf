-- The answer to a question as people see it, and what only its agent sees while its turn runs: the question as it was
-- asked and the answer with its secrets.
ALTER TABLE approvals ADD COLUMN answer JSON;
CREATE TABLE questions (
    approval_id TEXT PRIMARY KEY REFERENCES approvals (id) ON DELETE CASCADE,
    form JSON NOT NULL,
    answer JSON
);
