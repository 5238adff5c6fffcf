"""The server's side of terminals: starts their keepers, attaches viewers and ends them.

- `start_terminal` starts a keeper (`bough.agents.pty_keeper`) and attaches to it; `terminal_link` is one viewer.
- `core.terminals` calls it. It shares folders, keys and the clean-up of dead keepers with `keeper_client`.
"""
