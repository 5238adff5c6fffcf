-- What turns have used, by the quarter of an hour in which they ended, and by agent, repository and tree. It stays when
-- sessions are removed. What was used before this is counted when its session was active last.
CREATE TABLE turn_usage (
    quarter TEXT NOT NULL,
    root_session_id TEXT NOT NULL,
    repo_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    turns BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (quarter, root_session_id, repo_id, agent)
);
INSERT INTO turn_usage (quarter, root_session_id, repo_id, agent, turns, tokens, cost)
SELECT quarter, root_session_id, repo_id, agent, CAST(sum(turns) AS BIGINT), CAST(sum(tokens) AS BIGINT), sum(spent)
FROM (
    SELECT substr(active_at, 1, 14)
        || CASE WHEN substr(active_at, 15, 2) < '15' THEN '00' WHEN substr(active_at, 15, 2) < '30' THEN '15'
                WHEN substr(active_at, 15, 2) < '45' THEN '30' ELSE '45' END AS quarter,
        root_session_id, repo_id, agent, turns, tokens, spent
    FROM sessions WHERE turns > 0
) used GROUP BY quarter, root_session_id, repo_id, agent;

-- The sessions that a person keeps at the top; `person` is the id of a user, empty for the owner.
CREATE TABLE pins (
    person TEXT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    pinned_at TEXT NOT NULL,
    PRIMARY KEY (person, session_id)
);
CREATE INDEX pins_user ON pins (user_id);
CREATE INDEX pins_session ON pins (session_id);
