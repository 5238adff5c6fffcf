ALTER TABLE session_private DROP COLUMN transcript_limit;
ALTER TABLE session_private DROP COLUMN transcript_bytes;
ALTER TABLE keepers DROP COLUMN withheld;
ALTER TABLE keepers DROP COLUMN secrets;
