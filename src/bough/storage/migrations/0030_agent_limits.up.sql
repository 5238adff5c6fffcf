-- The usage and rate limits in force, one clock for each account of an agent. `resumes_at` is null while a person is
-- asked. `tries` counts the tries that met the limit again.
CREATE TABLE agent_limits (
    agent TEXT NOT NULL,
    account TEXT NOT NULL,
    reason TEXT NOT NULL,
    is_usage BOOLEAN NOT NULL,
    started_at TEXT NOT NULL,
    resumes_at TEXT,
    tries BIGINT NOT NULL,
    PRIMARY KEY (agent, account)
);
-- The times in which a task was parked, and the attempt that met the limit.
CREATE TABLE task_parks (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt BIGINT NOT NULL,
    parked_at TEXT NOT NULL,
    resumed_at TEXT,
    PRIMARY KEY (task_id, attempt)
);
-- The limit that an interrupted task waits for.
ALTER TABLE tasks ADD COLUMN parked JSON;
-- Whether a turn that a limit ended is parked and continued; null uses the server's setting.
ALTER TABLE sessions ADD COLUMN resume_after_limit BOOLEAN;
