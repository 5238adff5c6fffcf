"""Owns what each permission mode grants, the options of a question, and what an answer to it means.
It leaves asking, remembering and acting to the turn.
"""

from typing import Any, Literal

import msgspec

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

# Odd ids on purpose: a client has to go by the kind.
OPTIONS = {
    "yes-once": ("allow_once", "Yes, this once"),
    "yes-from-now-on": ("allow_always", "Yes, and do not ask again in this session"),
    "no-thanks": ("reject_once", "No"),
}


def judge(mode: str, deed: Deed) -> Verdict:
    """Returns whether a mode lets the agent do something, have to ask, or refuse by itself."""
    if mode == "plan":
        return "refuse"
    return "allow" if deed in _GRANTS[mode] else "ask"


def mode_state(current: str) -> dict[str, Any]:
    """Returns the `modes` of a session as the protocol has them."""
    return {
        "currentModeId": current,
        "availableModes": [{"id": mode, "name": mode, "description": text} for mode, text in MODES.items()],
    }


def options() -> list[dict[str, str]]:
    """Returns the options of a permission request."""
    return [{"optionId": key, "kind": kind, "name": name} for key, (kind, name) in OPTIONS.items()]


class _Outcome(msgspec.Struct, rename="camel"):
    outcome: Literal["selected", "cancelled"]
    option_id: str | None = None


class _Answer(msgspec.Struct):
    outcome: _Outcome


def read_answer(result: bytes) -> str:
    """Returns the kind of the chosen option, or `cancelled`; what was never offered counts as a rejection."""
    try:
        outcome = msgspec.json.decode(result, type=_Answer).outcome
    except msgspec.DecodeError:
        return "reject_once"
    if outcome.outcome == "cancelled":
        return "cancelled"
    return OPTIONS.get(outcome.option_id or "", ("reject_once", ""))[0]
