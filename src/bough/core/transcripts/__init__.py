"""Builds, stores and reads transcripts: folding agent updates into messages, recording them, paging, forks' inherited
messages, replay as text, export, attached files and notes for agents.

Called by `live_agents`, `turns`, `trees`, `search` and the doors. Calls `events` and `store`."""
