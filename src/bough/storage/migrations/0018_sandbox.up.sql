-- Whether agents run in the sandbox: a repo's and a session's own choice, and how the last start of an agent was confined.
ALTER TABLE repos ADD COLUMN sandbox TEXT;
ALTER TABLE sessions ADD COLUMN sandbox TEXT;
ALTER TABLE sessions ADD COLUMN confinement TEXT;
ALTER TABLE sessions ADD COLUMN unconfined_reason TEXT;
