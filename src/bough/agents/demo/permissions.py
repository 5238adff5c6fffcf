"""Owns what each permission mode grants.
It leaves the form of a question to `serving`, and asking, remembering and acting to the turn.
"""

from typing import Literal

Deed = Literal["write", "write-outside", "run", "mcp"]
Verdict = Literal["allow", "ask", "refuse"]

INITIAL_MODE = "default"
# What is written about each mode is what the user sees; what it grants is the table below.
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
_GRANTS: dict[str, set[Deed]] = {
    "default": set(),
    "ask": set(),
    "acceptEdits": {"write"},
    "auto": {"write", "run"},
    "on-failure": {"write", "run"},
    "bypassPermissions": {"write", "write-outside", "run", "mcp"},
    "allow-all": {"write", "write-outside", "run", "mcp"},
}
# Bough asks about its own tools itself: a second question from the agent would be one too many.
TRUSTED_SERVER = "bough"


def judge(mode: str, deed: Deed) -> Verdict:
    """Returns whether a mode lets the agent do something, have to ask, or refuse by itself."""
    if mode == "plan":
        return "refuse"
    return "allow" if deed in _GRANTS[mode] else "ask"
