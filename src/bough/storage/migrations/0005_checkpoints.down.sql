DROP TABLE overlaps;
DROP TABLE checkpoints;
