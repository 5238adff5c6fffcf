"""Defines trees of sessions with their budgets and reports, and races."""
