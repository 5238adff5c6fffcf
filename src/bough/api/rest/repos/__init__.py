"""Routes for repositories: those that are registered, and how others are found, browsed and cloned."""
