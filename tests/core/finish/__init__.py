"""Tests finishing work: commits, updates, merges, pushes and pull requests, through REST with the real git."""
