"""Logs and metrics. Every layer may use this package; it imports no other part of Bough."""
