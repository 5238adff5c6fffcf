ALTER TABLE tasks DROP COLUMN nudge;
ALTER TABLE sessions DROP COLUMN stuck_since;
ALTER TABLE sessions DROP COLUMN stuck;
