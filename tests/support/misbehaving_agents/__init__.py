"""Agents that misbehave, each a program: `python -m tests.support.misbehaving_agents.NAME`. They use only the standard
library; the tests that use them say how a client must handle them."""
