"""Overviews: what pages show about many sessions at once.

Owns the start page (`home`), the cards of boards (`cards`), the numbers for metrics (`counts`) and the tour's example
repository (`tour`). Called by the doors. Reads rows; only `tour` changes something, through `sessions` and `worktrees`.
"""
