ALTER TABLE session_private DROP COLUMN past_secrets;
