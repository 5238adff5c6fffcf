"""Follows the pull requests of worktrees: their checks and review threads, read through `gh` or `glab`.

`rows` stores them, `service` reads, refreshes and sends them, `prompt` words what a session gets, and `poller` looks
at open ones now and then. Called by the doors. Calls `sessions` for prompts, and `git.finish` for the servers.
"""
