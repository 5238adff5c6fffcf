"""Trees: sessions that come from sessions.

Creates forks, spawned children and side questions (`branch`) within the limits of a tree and of its sessions' modes
(`limits`), reads whole trees (`tree`), runs races (`race`), and removes old checkpoints (`prune_checkpoints`).

Called by the doors. Calls `sessions`, `state`, `worktrees` and `checkpoints`.
"""
