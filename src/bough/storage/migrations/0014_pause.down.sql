ALTER TABLE sessions DROP COLUMN pause_reason;
