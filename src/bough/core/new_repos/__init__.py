"""Finds repositories below the workspace root that are not registered yet, lists folders to choose from, and clones
others from their addresses.

Called by the doors. Calls `worktrees` to register what is added, `store` and `bough.git`."""
