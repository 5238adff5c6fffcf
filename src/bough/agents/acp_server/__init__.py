"""Owns what Bough's own agents have in common: lines, messages, the order of turns, session files, start and end.
It leaves what an agent does with a prompt to the agent, and imports nothing else of Bough.
"""
