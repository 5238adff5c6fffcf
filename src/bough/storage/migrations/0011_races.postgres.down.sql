ALTER TABLE sessions ADD COLUMN metadata JSON NOT NULL DEFAULT '{}';
-- Only what is there: a null would be an entry.
UPDATE sessions SET metadata = coalesce((
    SELECT json_object_agg(entry.name, entry.value) FROM (VALUES
        ('reason', to_json(end_reason)),
        ('ending', to_json(ending)),
        ('fork', to_json(fork_history)),
        ('linked', linked_files),
        ('told', told_notices),
        ('titleFrom', to_json(title_from)),
        ('agentMode', to_json(agent_mode)),
        ('configOptions', config_options),
        ('commands', commands),
        ('race', CASE WHEN race_id IS NOT NULL THEN coalesce(
            (SELECT json_build_object('id', race_id, 'number', race_number, 'kept', r.kept) FROM races r
             WHERE r.id = race_id AND r.kept_session_id = sessions.id AND r.kept IS NOT NULL),
            json_build_object('id', race_id, 'number', race_number)) END)
    ) AS entry (name, value) WHERE entry.value IS NOT NULL
), '{}');

-- The records of races are still in their notices.
DROP INDEX sessions_race;
ALTER TABLE sessions DROP COLUMN race_number;
ALTER TABLE sessions DROP COLUMN race_id;
ALTER TABLE sessions DROP COLUMN commands;
ALTER TABLE sessions DROP COLUMN config_options;
ALTER TABLE sessions DROP COLUMN agent_mode;
ALTER TABLE sessions DROP COLUMN title_from;
ALTER TABLE sessions DROP COLUMN told_notices;
ALTER TABLE sessions DROP COLUMN linked_files;
ALTER TABLE sessions DROP COLUMN fork_history;
ALTER TABLE sessions DROP COLUMN ending;
ALTER TABLE sessions DROP COLUMN end_reason;
DROP TABLE races;
