-- The mode that the latest attempt of a task was sent with, or that a person applied to it since. NULL before the first
-- attempt and in rows of older versions: the session's mode counts.
ALTER TABLE tasks ADD COLUMN permission_mode TEXT;
