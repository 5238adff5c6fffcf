-- The secret values that a session had before they were changed or removed: agents may still know them.
ALTER TABLE session_private ADD COLUMN past_secrets JSON NOT NULL DEFAULT '[]';
UPDATE session_private SET past_secrets = (SELECT k.secrets FROM keepers k WHERE k.session_id = session_private.session_id)
WHERE EXISTS (SELECT 1 FROM keepers k WHERE k.session_id = session_private.session_id);
