"""Owns the options of a permission request, what an answer to it means, and how modes are told to a client.
It leaves which mode asks about what, and what is remembered, to the agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

# Odd ids on purpose: a client has to go by the kind.
OPTIONS = {
    "yes-once": ("allow_once", "Yes, this once"),
    "yes-from-now-on": ("allow_always", "Yes, and do not ask again in this session"),
    "no-thanks": ("reject_once", "No"),
}


def options(**names: str) -> list[dict[str, str]]:
    """Returns the options of a permission request; an agent may have a better name for one, by its kind."""
    return [{"optionId": key, "kind": kind, "name": names.get(kind, name)} for key, (kind, name) in OPTIONS.items()]


def mode_state(current: str, modes: Mapping[str, str]) -> dict[str, Any]:
    """Returns the `modes` of a session as the protocol has them, from their ids and descriptions."""
    return {
        "currentModeId": current,
        "availableModes": [{"id": mode, "name": mode, "description": text} for mode, text in modes.items()],
    }


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
