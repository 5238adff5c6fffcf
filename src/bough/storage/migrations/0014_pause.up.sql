-- Why Bough paused the queue, in words for people; NULL if a person paused it or it is not paused.
ALTER TABLE sessions ADD COLUMN pause_reason TEXT;
