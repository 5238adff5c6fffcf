"""Races: one prompt is given to several branches of a session, and one result is kept.

`start` creates the racers, `status` compares them, `keep` decides; `setup_changes` tells their work from what the setup
of their worktrees made; `rules` holds the decisions that need neither rows nor git, and `records` reads and writes
rows.

Called by the doors. Calls `trees.branch`, `checkpoints`, `worktrees`, `sessions.cascades` and `bough.git`.
"""
