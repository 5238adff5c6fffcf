DROP TABLE clones;
