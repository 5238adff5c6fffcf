"""Terminals: a person's own shells in worktrees and in the folders of sessions.

- `service` opens, lists, attaches to and ends them, and removes the rows of those that have ended.
- Called by the doors `rest` and `ws`, and by `core.worktrees`, which ends the terminals of a worktree that it removes.
  Calls `agents.pty_client`, which runs the shells outside of the server.
- Only admins may open one: it is no agent, so that neither policy nor sandbox bounds what is typed there.
"""
