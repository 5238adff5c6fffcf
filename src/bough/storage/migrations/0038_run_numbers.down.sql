ALTER TABLE schedule_runs DROP COLUMN number;
