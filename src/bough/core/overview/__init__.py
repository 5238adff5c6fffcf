"""Overviews: data about many sessions at once, and about the server itself.

Reads the start page (`home`), the cards of boards (`cards`) and the numbers for metrics (`counts`), checks whether the
server can do its work (`health`), and creates the tour's example repository (`tour`). Called by the doors. Only `tour`
changes something, through `sessions` and `worktrees`.
"""
