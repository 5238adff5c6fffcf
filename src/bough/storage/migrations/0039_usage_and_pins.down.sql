DROP TABLE pins;
DROP TABLE turn_usage;
