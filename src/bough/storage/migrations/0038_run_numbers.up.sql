-- Which run of its schedule it is. The history is pruned, so counting its rows does not tell.
ALTER TABLE schedule_runs ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
UPDATE schedule_runs SET number = (
    SELECT count(*) FROM schedule_runs earlier
    WHERE earlier.schedule_id = schedule_runs.schedule_id AND (earlier.created_at < schedule_runs.created_at
        OR (earlier.created_at = schedule_runs.created_at AND earlier.id <= schedule_runs.id)));
