-- name: add
-- Adds a user; returns nothing if the name is taken.
INSERT INTO users (id, name, role, created_at, updated_at) VALUES (:id, :name, :role, :now, :now)
ON CONFLICT (name) DO NOTHING RETURNING *

-- name: list
-- Lists all users by name.
SELECT * FROM users ORDER BY name

-- name: get
-- Returns one user.
SELECT * FROM users WHERE id = :id

-- name: set_role
-- Gives a user another role; returns nothing if there is no such user.
UPDATE users SET role = :role, updated_at = :now WHERE id = :id RETURNING *

-- name: remove
-- Deletes a user, and with it the user's tokens.
DELETE FROM users WHERE id = :id
