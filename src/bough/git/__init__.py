"""Runs the real git for worktrees, snapshots, diffs and merges. Arguments never pass through a shell."""
