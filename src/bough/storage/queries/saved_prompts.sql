-- name: add
-- Saves a prompt; returns nothing if the person has one with this name.
INSERT INTO saved_prompts (id, user_id, name, text, created_at, updated_at)
VALUES (:id, :user_id, :name, :text, :now, :now)
ON CONFLICT (user_id, name) DO NOTHING
RETURNING id, name, text, created_at, updated_at

-- name: of_user
-- Lists the prompts of a person by name.
SELECT id, name, text, created_at, updated_at FROM saved_prompts WHERE user_id = :user_id ORDER BY name

-- name: named
-- Returns a person's prompt by its name.
SELECT id, name, text, created_at, updated_at FROM saved_prompts
WHERE user_id = :user_id AND name = :name

-- name: count
-- Counts the prompts of a person.
SELECT count(*) FROM saved_prompts WHERE user_id = :user_id

-- name: change
-- Changes a person's prompt.
UPDATE saved_prompts SET name = :name, text = :text, updated_at = :now WHERE id = :id AND user_id = :user_id
RETURNING id, name, text, created_at, updated_at

-- name: remove
-- Deletes a person's prompt.
DELETE FROM saved_prompts WHERE id = :id AND user_id = :user_id

-- name: remove_of_user
-- Deletes all prompts of a person who is removed.
DELETE FROM saved_prompts WHERE user_id = :user_id
