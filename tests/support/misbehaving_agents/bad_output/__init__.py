"""Agents that send what they should not, or read too late."""
