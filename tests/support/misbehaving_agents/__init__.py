"""Agents that misbehave, each a program of its own: `python -m tests.support.misbehaving_agents.NAME`.
They need the standard library alone; what a client must make of them is said in the tests that use them."""
