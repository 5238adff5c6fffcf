DROP INDEX approvals_expiry;
ALTER TABLE approvals DROP COLUMN key;
ALTER TABLE approvals DROP COLUMN reason;
ALTER TABLE approvals DROP COLUMN on_expiry;
ALTER TABLE approvals DROP COLUMN expires_at;
ALTER TABLE sessions DROP COLUMN headless;
DROP TABLE choices;
DROP TABLE rules;
