"""Trees: sessions that come from sessions.

Creates forks, spawned children and side questions (`branch`) within the limits of a tree and of its sessions' modes
(`tree_limits`), names forks (`fork_titles`), reads whole trees (`tree`), runs races (`race`), and removes old
checkpoints (`prune_checkpoints`).

Called by the doors. Calls `sessions`, `state`, `worktrees` and `checkpoints`.
"""
