-- Named texts that people insert into prompts. Each belongs to one user; the server's owner has an empty `user_id`.
CREATE TABLE saved_prompts (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (user_id, name)
);
