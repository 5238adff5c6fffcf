-- The commit that a remote's branch had when Bough last pushed or fetched it. Agents can write git's own record of it.
CREATE TABLE remote_branches (
    repo_id TEXT NOT NULL REFERENCES repos (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    branch TEXT NOT NULL,
    sha TEXT NOT NULL,
    noted_at TEXT NOT NULL,
    PRIMARY KEY (repo_id, address, branch)
);
