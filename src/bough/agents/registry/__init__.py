"""Agents in the format of the public ACP registry: reads an entry or a registry's document, checks every text in it,
and writes the catalog file that describes the agent.

- It owns the rules on what an entry may say. It trusts no entry and runs nothing.
- `core.added_agents` calls it; it calls the catalog and `bough.errors`."""
