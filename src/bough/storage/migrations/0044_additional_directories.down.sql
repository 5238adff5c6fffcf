ALTER TABLE sessions DROP COLUMN additional_directories;
