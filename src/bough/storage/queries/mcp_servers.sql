-- name: add
-- Makes an MCP server known; values that are secret are masked here.
INSERT INTO mcp_servers (id, name, transport, command, args, env, url, headers, enabled, created_at, updated_at)
VALUES (:id, :name, :transport, :command, :args, :env, :url, :headers, :enabled, :now, :now)
ON CONFLICT (name) DO NOTHING RETURNING *

-- name: add_private
-- Keeps the secret values of an MCP server.
INSERT INTO mcp_server_private (mcp_server_id, env, url, headers) VALUES (:id, :env, :url, :headers)

-- name: get
-- One MCP server.
SELECT * FROM mcp_servers WHERE id = :id

-- name: private
-- The secret values of some MCP servers, beside what is needed to connect.
SELECT s.id, s.name, s.transport, s.command, s.args, p.env, p.url, p.headers, s.enabled, s.created_at, s.updated_at
FROM mcp_servers s JOIN mcp_server_private p ON p.mcp_server_id = s.id WHERE s.id IN :ids ORDER BY s.name

-- name: some
-- Some MCP servers, without their secrets.
SELECT * FROM mcp_servers WHERE id IN :ids ORDER BY name

-- name: page
-- MCP servers by name.
SELECT * FROM mcp_servers ORDER BY name, id LIMIT :limit OFFSET :offset

-- name: count
-- How many MCP servers there are.
SELECT count(*) FROM mcp_servers

-- name: named
-- The MCP server with a name.
SELECT * FROM mcp_servers WHERE name = :name

-- name: change
-- Changes an MCP server; values that are secret are masked here.
UPDATE mcp_servers SET name = :name, command = :command, args = :args, env = :env, url = :url, headers = :headers,
                       enabled = :enabled, updated_at = :now
WHERE id = :id RETURNING *

-- name: change_private
-- Replaces the secret values of an MCP server.
UPDATE mcp_server_private SET env = :env, url = :url, headers = :headers WHERE mcp_server_id = :id

-- name: users
-- Sessions that are given an MCP server.
SELECT * FROM sessions WHERE CAST(mcp_server_ids AS TEXT) LIKE :pattern ORDER BY id

-- name: remove
-- Forgets an MCP server with its secrets.
DELETE FROM mcp_servers WHERE id = :id
