DROP TABLE schedule_runs;
DROP TABLE schedules;
