"""Seeing what happens: logs and metrics. It never changes what happens."""
