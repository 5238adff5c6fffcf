DROP TABLE task_overlaps;
DROP TABLE checkpoints;
