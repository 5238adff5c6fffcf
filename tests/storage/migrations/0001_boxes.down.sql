DROP TABLE things;
DROP TABLE boxes;
