-- What the sandbox keeps from agents, as chosen for a repo or a session, and the hosts that a repo's agents may reach.
ALTER TABLE repos ADD COLUMN sandbox_profile TEXT;
ALTER TABLE repos ADD COLUMN sandbox_hosts JSON NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN sandbox_profile TEXT;
