"""Owns what each permission mode lets the terminal do with a command: run it, ask first, or refuse it.
It leaves the form of a question to `serving`, and asking and remembering to the turn.
"""

from __future__ import annotations

from typing import Literal

Verdict = Literal["run", "ask", "refuse"]

INITIAL_MODE = "default"
_ASKS = "Asks before every command"
_RUNS = "Runs every command unasked"
# What is written about each mode is what the user sees; what it grants is the table below.
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
REFUSED = "Refused: in mode plan no command is run."


def judge(mode: str) -> Verdict:
    """Returns what becomes of a command in a mode; a mode that nobody knows asks."""
    if mode == "plan":
        return "refuse"
    return "run" if mode in _UNASKED else "ask"
