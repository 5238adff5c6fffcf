-- name: add
-- Adds a turn to the quarter hour in which it ended, for its tree, repository and agent.
INSERT INTO turn_usage (quarter, root_session_id, repo_id, agent, turns, tokens, cost)
VALUES (:quarter, :root_session_id, :repo_id, :agent, 1, :tokens, :cost)
ON CONFLICT (quarter, root_session_id, repo_id, agent) DO UPDATE SET turns = turn_usage.turns + 1,
    tokens = turn_usage.tokens + :tokens, cost = turn_usage.cost + :cost

-- name: total
-- Sums usage since a quarter hour.
SELECT CAST(coalesce(sum(turns), 0) AS BIGINT) AS turns, CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens,
       coalesce(sum(cost), 0.0) AS cost
FROM turn_usage WHERE quarter >= :since

-- name: quarters
-- Sums usage by quarter hour.
SELECT quarter, CAST(sum(turns) AS BIGINT) AS turns, CAST(sum(tokens) AS BIGINT) AS tokens, sum(cost) AS cost
FROM turn_usage WHERE quarter >= :since GROUP BY quarter ORDER BY quarter

-- name: groups
-- Sums usage by agent, repository or tree, the most used first.
SELECT {column} AS id, CAST(sum(turns) AS BIGINT) AS turns, CAST(sum(tokens) AS BIGINT) AS tokens, sum(cost) AS cost
FROM turn_usage WHERE quarter >= :since GROUP BY {column}
ORDER BY sum(tokens) DESC, sum(turns) DESC, {column} LIMIT :limit

-- name: repo_names
-- Returns the names of repositories by id.
SELECT id, name FROM repos WHERE id IN :ids
