-- What pages read: which sessions a person has looked at, where the card of a repository's own folder lies, and what was
-- used when.

-- When a person last looked at a session; whoever upgrades has seen all that there is.
ALTER TABLE sessions ADD COLUMN seen_at TEXT;
UPDATE sessions SET seen_at = updated_at;

-- The last turn of a session that ended, completed or failed, since a person looked: whatever is here is unread.
CREATE TABLE unread (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('completed', 'failed')),
    ended_at TEXT NOT NULL
);
CREATE INDEX unread_ended ON unread (ended_at);

-- Which trees were active last.
CREATE INDEX sessions_recent ON sessions (active_at);

-- Where the card of the repository's own folder lies.
ALTER TABLE repos ADD COLUMN board_id TEXT;
ALTER TABLE repos ADD COLUMN x DOUBLE PRECISION;
ALTER TABLE repos ADD COLUMN y DOUBLE PRECISION;

-- What turns have used, by the quarter of an hour in which they ended: all time zones are made of quarters. It stays when
-- sessions are removed. What was used before this is counted when its session was active last.
CREATE TABLE spending (
    quarter TEXT PRIMARY KEY,
    turns BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION NOT NULL
);
INSERT INTO spending (quarter, turns, tokens, cost)
SELECT quarter, CAST(sum(turns) AS BIGINT), CAST(sum(tokens) AS BIGINT), sum(spent)
FROM (
    SELECT substr(active_at, 1, 14)
        || CASE WHEN substr(active_at, 15, 2) < '15' THEN '00' WHEN substr(active_at, 15, 2) < '30' THEN '15'
                WHEN substr(active_at, 15, 2) < '45' THEN '30' ELSE '45' END AS quarter, turns, tokens, spent
    FROM sessions WHERE turns > 0
) used GROUP BY quarter;
