"""Cleans up after finished work: ends and archives a worktree's sessions, removes it, and deletes its merged branch.

`merged_into` finds the branch that contains the work, `plan` previews or refuses, and `service` carries plans out
and completes what the last server left. `sweep` cleans up all worktrees whose work is merged. Called by the doors.
Calls `sessions`, `worktrees` and `git`.
"""
