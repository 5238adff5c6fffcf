-- The secret values that an agent was started with, and ends of growing messages that may become one of them: they are
-- kept here, and not in the transcript, until they turn out to be harmless.
ALTER TABLE keepers ADD COLUMN secrets JSON NOT NULL DEFAULT '[]';
ALTER TABLE keepers ADD COLUMN withheld JSON NOT NULL DEFAULT '{}';
-- The size of a session's messages, and the largest one that a person allows it; NULL means the server's setting.
ALTER TABLE session_private ADD COLUMN transcript_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE session_private ADD COLUMN transcript_limit BIGINT;
UPDATE session_private SET transcript_bytes = (
    SELECT COALESCE(SUM(LENGTH(CAST(m.content AS TEXT))), 0) FROM messages m
    WHERE m.session_id = session_private.session_id
);
