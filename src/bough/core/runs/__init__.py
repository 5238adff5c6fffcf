"""Runs: commands that people start in worktrees, such as development servers, with their ports and logs.

- `service` starts, lists and stops them and reads their logs; `command` prepares what is started, `watch` finds
  ports that answer, `log_text` turns what was printed into plain text, and `previews` knows the addresses of previews.
- Called by the doors and by `core.worktrees`, which ends the runs of a worktree that it removes. Calls
  `agents.pty_client`, which runs the commands outside of the server.
- A repository's own command runs only after a person has allowed it, in the box that an agent would have there. Only
  admins may type one: nothing bounds it.
"""
