ALTER TABLE sessions DROP COLUMN resume_after_limit;
ALTER TABLE tasks DROP COLUMN parked;
DROP TABLE task_parks;
DROP TABLE agent_limits;
