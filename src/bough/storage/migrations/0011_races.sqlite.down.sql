ALTER TABLE sessions ADD COLUMN metadata JSON NOT NULL DEFAULT '{}';
-- Only what is there: a null would be an entry.
UPDATE sessions SET metadata = (
    SELECT json_group_object(name, json(value)) FROM (
        SELECT 'reason' AS name, json_quote(end_reason) AS value WHERE end_reason IS NOT NULL
        UNION ALL SELECT 'ending', json_quote(ending) WHERE ending IS NOT NULL
        UNION ALL SELECT 'fork', json_quote(fork_history) WHERE fork_history IS NOT NULL
        UNION ALL SELECT 'linked', linked_files WHERE linked_files IS NOT NULL
        UNION ALL SELECT 'told', told_notices WHERE told_notices IS NOT NULL
        UNION ALL SELECT 'titleFrom', json_quote(title_from) WHERE title_from IS NOT NULL
        UNION ALL SELECT 'agentMode', json_quote(agent_mode) WHERE agent_mode IS NOT NULL
        UNION ALL SELECT 'configOptions', config_options WHERE config_options IS NOT NULL
        UNION ALL SELECT 'commands', commands WHERE commands IS NOT NULL
        UNION ALL SELECT 'race', coalesce(
            (SELECT json_object('id', race_id, 'number', race_number, 'kept', json(r.kept)) FROM races r
             WHERE r.id = race_id AND r.kept_session_id = sessions.id AND r.kept IS NOT NULL),
            json_object('id', race_id, 'number', race_number)) WHERE race_id IS NOT NULL
    )
);

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
