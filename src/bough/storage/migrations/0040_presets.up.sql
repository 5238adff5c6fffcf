-- Named combinations of an agent and its settings, which new sessions can start from. Values of variables are masked
-- here; `preset_private` has them.
CREATE TABLE presets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    permission_mode TEXT,
    mcp_server_ids JSON NOT NULL,
    env JSON NOT NULL,
    instructions TEXT NOT NULL,
    sandbox TEXT,
    sandbox_profile TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE TABLE preset_private (
    preset_id TEXT PRIMARY KEY REFERENCES presets (id) ON DELETE CASCADE,
    env JSON NOT NULL
);
-- The preset that a session was created from, with its name at that time. It may have been renamed or removed since.
ALTER TABLE sessions ADD COLUMN preset_id TEXT;
ALTER TABLE sessions ADD COLUMN preset TEXT;
-- The preset's instructions at that time, which the agent is given.
ALTER TABLE session_private ADD COLUMN instructions TEXT NOT NULL DEFAULT '';
