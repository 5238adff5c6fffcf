"""Overviews: data for pages that show many sessions at once.

Reads the start page (`home`), the cards of boards (`cards`) and the numbers for metrics (`counts`), and creates the
tour's example repository (`tour`). Called by the doors. Only `tour` changes something, through `sessions` and
`worktrees`.
"""
