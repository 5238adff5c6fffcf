-- name: add
-- Adds an MCP server with masked secrets.
INSERT INTO mcp_servers (id, name, transport, command, args, env, url, headers, enabled, created_at, updated_at)
VALUES (:id, :name, :transport, :command, :args, :env, :url, :headers, :enabled, :now, :now)
ON CONFLICT (name) DO NOTHING RETURNING *

-- name: add_private
-- Stores an MCP server's secrets.
INSERT INTO mcp_server_private (mcp_server_id, env, url, headers) VALUES (:id, :env, :url, :headers)

-- name: get
-- Returns one MCP server.
SELECT * FROM mcp_servers WHERE id = :id

-- name: private
-- Returns MCP servers with their secrets.
SELECT s.id, s.name, s.transport, s.command, s.args, p.env, p.url, p.headers, s.enabled, s.created_at, s.updated_at
FROM mcp_servers s JOIN mcp_server_private p ON p.mcp_server_id = s.id WHERE s.id IN :ids ORDER BY s.name

-- name: some
-- Returns MCP servers without their secrets.
SELECT * FROM mcp_servers WHERE id IN :ids ORDER BY name

-- name: page
-- Lists MCP servers by name.
SELECT * FROM mcp_servers ORDER BY name, id LIMIT :limit OFFSET :offset

-- name: count
-- Counts the MCP servers.
SELECT count(*) FROM mcp_servers

-- name: named
-- Returns the MCP server with a name.
SELECT * FROM mcp_servers WHERE name = :name

-- name: change
-- Changes an MCP server with masked secrets.
UPDATE mcp_servers SET name = :name, command = :command, args = :args, env = :env, url = :url, headers = :headers,
                       enabled = :enabled, updated_at = :now
WHERE id = :id RETURNING *

-- name: change_private
-- Replaces the secret values of an MCP server.
UPDATE mcp_server_private SET env = :env, url = :url, headers = :headers WHERE mcp_server_id = :id

-- name: users
-- Lists the sessions that use an MCP server.
SELECT * FROM sessions WHERE CAST(mcp_server_ids AS TEXT) LIKE :pattern ORDER BY id

-- name: remove
-- Deletes an MCP server with its secrets.
DELETE FROM mcp_servers WHERE id = :id
