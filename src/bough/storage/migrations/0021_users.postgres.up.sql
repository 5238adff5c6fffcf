-- People besides the owner, their tokens (only hashes), and the audit trail.
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    -- NULL for a token of the owner.
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('viewer', 'operator', 'admin')),
    token_hash TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    last_used_at TEXT,
    -- NULL for a token that does not expire.
    expires_at TEXT
);
CREATE INDEX tokens_user ON tokens (user_id);

-- The user's token that a browser was signed in with; NULL for the server's.
ALTER TABLE page_keys ADD COLUMN token_id TEXT;

-- The user's token that a person called a tool with.
ALTER TABLE calls ADD COLUMN token_id TEXT;

-- Whether an admin has set the variables of a session. Only such variables open hosts to a strictly confined agent.
ALTER TABLE session_private ADD COLUMN env_trusted BOOLEAN NOT NULL DEFAULT TRUE;

-- Numbers are taken from a counter, so that they follow the order of commits. Names stay when users are removed.
CREATE TABLE audit (
    number BIGINT PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    user_id TEXT,
    user_name TEXT,
    role TEXT,
    caller_session_id TEXT,
    door TEXT NOT NULL,
    token_id TEXT,
    action TEXT NOT NULL,
    session_id TEXT,
    subject_id TEXT,
    details JSON NOT NULL
);
CREATE INDEX audit_session ON audit (session_id, number);
CREATE INDEX audit_user ON audit (user_name, number);
CREATE INDEX audit_action ON audit (action, number);
INSERT INTO counters (name, value) VALUES ('audit', 0), ('audit_pruned', 0);

-- Entries are only added. The one exception is `bough db prune-audit`, which first sets the counter `audit_pruned` to the
-- last number that it removes.
-- Bodies stand in plain quotes and triggers are replaced, if there are any, so that a migration can be read statement
-- by statement with the rules of either database.
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    RAISE EXCEPTION ''Entries of the audit trail cannot be changed or removed.'';
END';
CREATE FUNCTION audit_refuse_removal() RETURNS trigger LANGUAGE plpgsql AS '
BEGIN
    IF OLD.number > (SELECT value FROM counters WHERE name = ''audit_pruned'') THEN
        RAISE EXCEPTION ''Entries of the audit trail cannot be removed.'';
    END IF;
    RETURN OLD;
END';
CREATE OR REPLACE TRIGGER audit_changed BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE OR REPLACE TRIGGER audit_removed BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuse_removal();
CREATE OR REPLACE TRIGGER audit_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
