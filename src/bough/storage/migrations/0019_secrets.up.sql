-- The secret values that an agent was started with, and ends of growing messages that may become one of them: they are
-- kept here, and not in the transcript, until they turn out to be harmless.
ALTER TABLE keepers ADD COLUMN secrets JSON NOT NULL DEFAULT '[]';
ALTER TABLE keepers ADD COLUMN withheld JSON NOT NULL DEFAULT '{}';
