-- name: get
-- Returns what an agent offers.
SELECT * FROM agent_offers WHERE agent = :agent

-- name: all
-- Lists what the agents offer.
SELECT * FROM agent_offers ORDER BY agent

-- name: put
-- Stores what an agent offers.
INSERT INTO agent_offers (agent, version, options, modes, commands, source, error_code, error, checked_at)
VALUES (:agent, :version, :options, :modes, :commands, :source, NULL, NULL, :now)
ON CONFLICT (agent) DO UPDATE SET version = :version, options = :options, modes = :modes, commands = :commands,
    source = :source, error_code = NULL, error = NULL, checked_at = :now

-- name: fail
-- Stores why an agent could not be asked. What it offered before stays.
INSERT INTO agent_offers (agent, version, options, modes, commands, source, error_code, error, checked_at)
VALUES (:agent, :version, :options, :modes, :commands, :source, :error_code, :error, :now)
ON CONFLICT (agent) DO UPDATE SET version = :version, error_code = :error_code, error = :error, checked_at = :now
