-- Prompts that are sent by the clock: `cron` times in a time zone, or one time (`at`). Each goes to one session, or to a
-- new one per run, which `template` describes as JSON text.
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    prompt TEXT NOT NULL,
    cron TEXT,
    at TEXT,
    timezone TEXT NOT NULL,
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    template TEXT,
    missed TEXT NOT NULL CHECK (missed IN ('run', 'skip')),
    overlap TEXT NOT NULL CHECK (overlap IN ('run', 'skip')),
    paused BOOLEAN NOT NULL,
    -- Why Bough paused it; null if a person did.
    pause_reason TEXT,
    -- Failed runs since the last one that started.
    failures BIGINT NOT NULL,
    created_by JSON NOT NULL,
    -- The next time that is due; null once there is none.
    next_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CHECK ((cron IS NULL) <> (at IS NULL)),
    CHECK ((session_id IS NULL) <> (template IS NULL))
);
CREATE INDEX schedules_next ON schedules (next_at);
-- One row for each time of a schedule, so that no time is used twice, and for each run that somebody asked for.
CREATE TABLE schedule_runs (
    id TEXT PRIMARY KEY,
    schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    slot TEXT NOT NULL,
    trigger TEXT NOT NULL CHECK (trigger IN ('clock', 'person')),
    status TEXT NOT NULL CHECK (status IN ('starting', 'started', 'skipped', 'failed')),
    reason TEXT,
    -- How many earlier times passed unused while no server ran.
    missed BIGINT NOT NULL,
    session_id TEXT,
    task_id TEXT,
    created_at TEXT NOT NULL,
    UNIQUE (schedule_id, slot)
);
CREATE INDEX schedule_runs_starting ON schedule_runs (status) WHERE status = 'starting';
