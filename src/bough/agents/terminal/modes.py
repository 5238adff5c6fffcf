"""Decides for each permission mode whether a command runs, needs permission first or is refused."""

from __future__ import annotations

from typing import Literal

Decision = Literal["run", "ask", "refuse"]

_ASKS = "Asks before every command"
_RUNS = "Runs every command unasked"
# The descriptions are shown to users.
MODES = {
    "default": _ASKS,
    "acceptEdits": _ASKS,
    "bypassPermissions": _RUNS,
    "plan": "Runs nothing",
    "ask": _ASKS,
    "auto": _ASKS,
    "on-failure": _ASKS,
    "allow-all": _RUNS,
}
_UNASKED = {"bypassPermissions", "allow-all"}
REFUSED = "Refused: mode plan runs no commands."


def decide(mode: str) -> Decision:
    """Returns whether a mode runs a command, asks about it or refuses it. An unknown mode asks."""
    if mode == "plan":
        return "refuse"
    return "run" if mode in _UNASKED else "ask"
