"""Trees: sessions that come from sessions.

Owns forks, spawned children and side questions (`branch`), the limits of a tree and of its sessions' modes
(`limits`), reading a whole tree (`tree`), races (`race`), and the removal of old checkpoints (`prune`).

Called by the doors. Calls `sessions`, `state`, `worktrees` and `checkpoints`.
"""
