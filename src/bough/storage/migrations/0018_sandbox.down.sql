ALTER TABLE sessions DROP COLUMN unconfined_reason;
ALTER TABLE sessions DROP COLUMN confinement;
ALTER TABLE sessions DROP COLUMN sandbox;
ALTER TABLE repos DROP COLUMN sandbox;
