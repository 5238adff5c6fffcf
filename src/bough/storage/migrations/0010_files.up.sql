-- Files that go with a prompt, in the order in which they were given; the bytes are kept as base64, which is how agents
-- are sent pictures.
CREATE TABLE files (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    name TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    data TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (task_id, position)
);
CREATE INDEX files_tail ON files (substr(id, 29));

-- What the agent that a keeper holds takes in a prompt besides text.
ALTER TABLE keepers ADD COLUMN takes_images BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE keepers ADD COLUMN takes_resources BOOLEAN NOT NULL DEFAULT FALSE;
