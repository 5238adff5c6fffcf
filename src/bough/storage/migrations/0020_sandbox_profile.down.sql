ALTER TABLE sessions DROP COLUMN sandbox_profile;
ALTER TABLE repos DROP COLUMN sandbox_hosts;
ALTER TABLE repos DROP COLUMN sandbox_profile;
