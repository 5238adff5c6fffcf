"""Bough runs trees of coding-agent sessions; `bough.app` builds a server, `tests.support` what tests share."""

__version__ = "0.1.0"
