ALTER TABLE sessions DROP COLUMN approval_timeout;
