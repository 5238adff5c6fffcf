-- An older server knows only queued prompts.
UPDATE tasks SET status = 'queued' WHERE status = 'steering';
DROP INDEX tasks_steers;
ALTER TABLE tasks DROP COLUMN steers_task_id;
