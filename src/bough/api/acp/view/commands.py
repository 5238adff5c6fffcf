"""Lists the slash commands that an editor offers in a session: Bough's own and those of the agent."""

from __future__ import annotations

from typing import Any

from bough.api.acp.view.shapes import agents_commands
from bough.model.session import Session

# By name: the description, and the hint for the text after the command if it takes one. `sessions.slash_commands` runs
# them.
OWN_COMMANDS: dict[str, tuple[str, str | None]] = {
    "fork": ("Fork this session with its conversation", "what the agent should do"),
    "spawn": ("Spawn a child session that reports back here", "what the agent should do"),
    "btw": ("Ask a side question, without changing anything", "question"),
    "tree": ("Show this session's tree", None),
    "queue": ("Show the queued prompts", None),
}


def available(session: Session) -> list[dict[str, Any]]:
    """Returns our commands, then the agent's; ours win if names collide."""
    ours = [
        {"name": name, "description": about} | ({"input": {"hint": hint}} if hint else {})
        for name, (about, hint) in OWN_COMMANDS.items()
    ]
    agents_own = agents_commands(session.metadata.offered_commands)
    return [*ours, *(command for command in agents_own if command["name"] not in OWN_COMMANDS)]
