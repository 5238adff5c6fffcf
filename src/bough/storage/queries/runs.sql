-- name: add
-- Adds a run.
INSERT INTO runs (id, worktree_id, name, command, port, confined, started_by, state, created_at)
VALUES (:id, :worktree_id, :name, :command, :port, :confined, :started_by, 'running', :now)
RETURNING *

-- name: get
-- Returns one run.
SELECT * FROM runs WHERE id = :id

-- name: all
-- Lists all runs, oldest first.
SELECT * FROM runs ORDER BY id

-- name: of_worktree
-- Lists the runs of a worktree, oldest first.
SELECT * FROM runs WHERE worktree_id = :worktree_id ORDER BY id

-- name: of_removed_worktrees
-- Lists the runs of worktrees that are gone.
SELECT runs.* FROM runs JOIN worktrees ON worktrees.id = runs.worktree_id WHERE worktrees.removed_at IS NOT NULL

-- name: running
-- Lists what runs, oldest first.
SELECT * FROM runs WHERE state = 'running' ORDER BY id

-- name: count_running
-- Counts the commands that run.
SELECT count(*) FROM runs WHERE state = 'running'

-- name: same_running
-- Returns the run of a named command in a worktree.
SELECT * FROM runs WHERE worktree_id = :worktree_id AND name = :name AND state = 'running'

-- name: end
-- Stores the end of a run; returns nothing if it is stored already.
UPDATE runs SET state = :state, code = :code, answers = FALSE, ended_at = :now WHERE id = :id AND state = 'running'
RETURNING *

-- name: set_answers
-- Stores whether the port of a run answers.
UPDATE runs SET answers = :answers WHERE id = :id AND state = 'running' RETURNING *

-- name: remove
-- Deletes a run; returns nothing if it is gone already.
DELETE FROM runs WHERE id = :id RETURNING *
