-- The task of the running turn that a prompt is put into, or was put into. It stays after a prompt was queued again only
-- if an agent that died may have read the prompt.
ALTER TABLE tasks ADD COLUMN steers_task_id TEXT;
CREATE INDEX tasks_steers ON tasks (steers_task_id) WHERE steers_task_id IS NOT NULL;
