DROP TABLE restores;
ALTER TABLE tasks DROP COLUMN sent_before;
