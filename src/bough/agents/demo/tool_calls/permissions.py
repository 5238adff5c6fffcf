"""Decides for each permission mode which actions the demo agent takes unasked, asks about or refuses."""

from typing import Literal

Action = Literal["write", "write-outside", "run", "mcp"]
Decision = Literal["allow", "ask", "refuse"]

# The descriptions are shown to users. The table below holds what each mode allows.
MODES = {
    "default": "Asks before every write, command and MCP call",
    "acceptEdits": "Writes inside the working directory unasked, asks for the rest",
    "bypassPermissions": "Never asks",
    "plan": "Refuses writes, commands and MCP calls",
    "ask": "Asks before every write, command and MCP call",
    "auto": "Writes inside the working directory and runs commands unasked, asks for the rest",
    "on-failure": "Writes inside the working directory and runs commands unasked, asks for the rest",
    "allow-all": "Never asks",
}
_ALLOWED: dict[str, set[Action]] = {
    "default": set(),
    "ask": set(),
    "acceptEdits": {"write"},
    "auto": {"write", "run"},
    "on-failure": {"write", "run"},
    "bypassPermissions": {"write", "write-outside", "run", "mcp"},
    "allow-all": {"write", "write-outside", "run", "mcp"},
}
# Bough asks about its own tools itself; the agent must not ask a second time.
TRUSTED_SERVER = "bough"


def decide(mode: str, action: Action) -> Decision:
    """Returns whether a mode allows an action, asks about it or refuses it."""
    if mode == "plan":
        return "refuse"
    return "allow" if action in _ALLOWED[mode] else "ask"
