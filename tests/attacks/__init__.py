"""Attacks by a hostile agent: each test tries one way out of a session's rights."""
