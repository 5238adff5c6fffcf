ALTER TABLE tasks DROP COLUMN permission_mode;
