"""Agents that die, hang, or end their turn or their process at the wrong moment."""
