-- name: add
-- Adds a preset with masked values of variables.
INSERT INTO presets (id, name, description, agent, model, effort, permission_mode, mcp_server_ids, env, instructions,
                     sandbox, sandbox_profile, created_at, updated_at)
VALUES (:id, :name, :description, :agent, :model, :effort, :permission_mode, :mcp_server_ids, :env, :instructions,
        :sandbox, :sandbox_profile, :now, :now)
ON CONFLICT (name) DO NOTHING RETURNING *

-- name: add_private
-- Stores a preset's variables.
INSERT INTO preset_private (preset_id, env) VALUES (:id, :env)

-- name: get
-- Returns one preset.
SELECT * FROM presets WHERE id = :id

-- name: named
-- Returns the preset with a name.
SELECT * FROM presets WHERE name = :name

-- name: private
-- Returns a preset's variables.
SELECT env FROM preset_private WHERE preset_id = :id

-- name: page
-- Lists presets by name.
SELECT * FROM presets ORDER BY name, id LIMIT :limit OFFSET :offset

-- name: count
-- Counts the presets.
SELECT count(*) FROM presets

-- name: patch
-- Changes columns of a preset.
UPDATE presets SET {set}, updated_at = :now WHERE id = :id RETURNING *

-- name: change_private
-- Replaces a preset's variables.
UPDATE preset_private SET env = :env WHERE preset_id = :id

-- name: with_server
-- Lists the presets that give sessions an MCP server.
SELECT * FROM presets WHERE CAST(mcp_server_ids AS TEXT) LIKE :pattern ORDER BY id

-- name: remove
-- Deletes a preset with its variables.
DELETE FROM presets WHERE id = :id
