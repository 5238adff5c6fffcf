"""Routes for worktrees and what is done in and about them: finishing, checks, sweeps, terminals and boards."""
