-- What people decided about the commands and copies of repositories' own files, by content.
CREATE TABLE repo_config_decisions (
    repo_id TEXT NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    allowed BOOLEAN NOT NULL,
    decided_at TEXT NOT NULL,
    PRIMARY KEY (repo_id, digest)
);
