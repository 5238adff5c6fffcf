-- name: add
-- Makes an MCP server known; values that are secret are masked here.
INSERT INTO mcp_servers (id, name, transport, command, args, env, url, headers, enabled, created_at, updated_at)
VALUES (:id, :name, :transport, :command, :args, :env, :url, :headers, :enabled, :now, :now)
ON CONFLICT (name) DO NOTHING RETURNING *

-- name: add_private
-- Keeps the secret values of an MCP server.
INSERT INTO mcp_server_private (mcp_server_id, env, headers) VALUES (:id, :env, :headers)

-- name: get
-- One MCP server.
SELECT * FROM mcp_servers WHERE id = :id

-- name: private
-- The secret values of some MCP servers, beside what is needed to connect.
SELECT s.id, s.name, s.transport, s.command, s.args, p.env, s.url, p.headers, s.enabled, s.created_at, s.updated_at
FROM mcp_servers s JOIN mcp_server_private p ON p.mcp_server_id = s.id WHERE s.id IN :ids ORDER BY s.name

-- name: page
-- MCP servers by name.
SELECT * FROM mcp_servers ORDER BY name, id LIMIT :limit OFFSET :offset

-- name: count
-- How many MCP servers there are.
SELECT count(*) FROM mcp_servers

-- name: enable
-- Turns an MCP server on or off.
UPDATE mcp_servers SET enabled = :enabled, updated_at = :now WHERE id = :id RETURNING *

-- name: remove
-- Forgets an MCP server with its secrets.
DELETE FROM mcp_servers WHERE id = :id
