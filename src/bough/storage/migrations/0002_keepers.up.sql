-- Keepers: which detached process holds the agent of which session, and how much of what it said is stored.
CREATE TABLE keepers (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    ready BOOLEAN NOT NULL,
    stored BIGINT NOT NULL,
    has_modes BOOLEAN NOT NULL,
    options JSON NOT NULL,
    needs_history BOOLEAN NOT NULL,
    made_of TEXT NOT NULL,
    created_at TEXT NOT NULL
);
