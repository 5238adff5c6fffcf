-- What an agent offers in a new session, as it said when it was last asked: options with their values (models, efforts),
-- its own modes and slash commands. `error` says why it could not be asked.
CREATE TABLE agent_offers (
    agent TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    options JSON NOT NULL,
    modes JSON NOT NULL,
    commands JSON NOT NULL,
    source TEXT NOT NULL,
    error_code TEXT,
    error TEXT,
    checked_at TEXT NOT NULL
);
