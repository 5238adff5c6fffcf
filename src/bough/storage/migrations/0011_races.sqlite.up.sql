-- Races get a table of their own, and what was in the metadata of sessions becomes columns.

CREATE TABLE races (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('fork', 'spawn')),
    prompt TEXT NOT NULL,
    cwd TEXT NOT NULL,
    start_sha TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    kept_session_id TEXT,
    kept JSON,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX races_session ON races (session_id, created_at);
CREATE INDEX races_tail ON races (substr(id, 29));

ALTER TABLE sessions ADD COLUMN end_reason TEXT;
ALTER TABLE sessions ADD COLUMN ending TEXT;
ALTER TABLE sessions ADD COLUMN fork_history TEXT;
ALTER TABLE sessions ADD COLUMN linked_files JSON;
ALTER TABLE sessions ADD COLUMN told_notices JSON;
ALTER TABLE sessions ADD COLUMN title_from TEXT;
ALTER TABLE sessions ADD COLUMN agent_mode TEXT;
ALTER TABLE sessions ADD COLUMN config_options JSON;
ALTER TABLE sessions ADD COLUMN commands JSON;
ALTER TABLE sessions ADD COLUMN race_id TEXT;
ALTER TABLE sessions ADD COLUMN race_number BIGINT;

UPDATE sessions SET
    end_reason = metadata ->> '$.reason',
    ending = metadata ->> '$.ending',
    fork_history = metadata ->> '$.fork',
    linked_files = metadata -> '$.linked',
    told_notices = metadata -> '$.told',
    title_from = metadata ->> '$.titleFrom',
    agent_mode = metadata ->> '$.agentMode',
    config_options = metadata -> '$.configOptions',
    commands = metadata -> '$.commands',
    race_id = metadata ->> '$.race.id',
    race_number = metadata ->> '$.race.number'
WHERE metadata <> '{}';
CREATE INDEX sessions_race ON sessions (race_id, race_number) WHERE race_id IS NOT NULL;

-- A race was a message with its record, and the winner's metadata said that it was kept.
INSERT INTO races (id, session_id, kind, prompt, cwd, start_sha, head_sha, kept_session_id, kept, created_at, updated_at)
SELECT m.id, m.session_id, m.content ->> '$.race.kind',
    coalesce((
        SELECT t.prompt FROM sessions s JOIN tasks t ON t.session_id = s.id
        WHERE s.race_id = m.id ORDER BY s.race_number, t.position LIMIT 1), ''),
    m.content ->> '$.race.cwd', m.content ->> '$.race.start', m.content ->> '$.race.head',
    (SELECT s.id FROM sessions s WHERE s.race_id = m.id AND s.metadata -> '$.race.kept' IS NOT NULL LIMIT 1),
    (SELECT s.metadata -> '$.race.kept' FROM sessions s
     WHERE s.race_id = m.id AND s.metadata -> '$.race.kept' IS NOT NULL LIMIT 1),
    m.created_at, m.updated_at
FROM messages m WHERE m.role = 'system' AND m.content -> '$.race.start' IS NOT NULL;

ALTER TABLE sessions DROP COLUMN metadata;
