"""Agents that admins add from a registry's entry, and remove again. `agents.registry` decides what an entry may say;
this room writes the catalog file and has the catalog read again."""
