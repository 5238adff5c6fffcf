"""Bough runs trees of coding-agent sessions; `bough.app` builds a server, `bough.testing` what tests share."""

__version__ = "0.1.0"
