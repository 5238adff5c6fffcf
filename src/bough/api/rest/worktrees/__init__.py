"""Routes for worktrees and what is done in and about them: finishing, checks, sweeps, terminals and boards. Called by
`api.server`, which mounts them. Calls the services of core."""
