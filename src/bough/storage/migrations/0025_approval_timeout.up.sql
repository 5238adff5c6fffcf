-- How many minutes an approval of the session waits for a person; null uses the server's setting.
ALTER TABLE sessions ADD COLUMN approval_timeout DOUBLE PRECISION;
