ALTER TABLE boxes ADD COLUMN colour TEXT;
UPDATE boxes SET colour = CAST(hits AS TEXT) || ' red';
-- The end.
