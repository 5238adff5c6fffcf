"""Knows what the agents offer before the first turn: models, efforts, their own modes and slash commands.

`service` answers the doors from rows and has an agent asked in the background; `ask` starts it for that. Rows are also
written when a session's agent reports something newer (`live_agents/offers`)."""
