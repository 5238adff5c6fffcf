ALTER TABLE session_private DROP COLUMN instructions;
ALTER TABLE sessions DROP COLUMN preset;
ALTER TABLE sessions DROP COLUMN preset_id;
DROP TABLE preset_private;
DROP TABLE presets;
