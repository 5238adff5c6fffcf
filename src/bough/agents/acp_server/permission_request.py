"""Builds the options of a permission request and reads the client's answer. The agent decides when to ask."""

from __future__ import annotations

from typing import Literal

import msgspec

# The ids are odd on purpose: a client has to go by the kind.
OPTIONS = {
    "yes-once": ("allow_once", "Yes, this once"),
    "yes-from-now-on": ("allow_always", "Yes, and do not ask again in this session"),
    "no-thanks": ("reject_once", "No"),
}


def options(**names: str) -> list[dict[str, str]]:
    """Returns the options of a permission request. An agent may give an option a better name, by its kind."""
    return [{"optionId": key, "kind": kind, "name": names.get(kind, name)} for key, (kind, name) in OPTIONS.items()]


class _Outcome(msgspec.Struct, rename="camel"):
    outcome: Literal["selected", "cancelled"]
    option_id: str | None = None


class _Answer(msgspec.Struct):
    outcome: _Outcome


def read_answer(result: bytes) -> str:
    """Returns the kind of the chosen option, or `cancelled`. An option that was not offered counts as a rejection."""
    try:
        outcome = msgspec.json.decode(result, type=_Answer).outcome
    except msgspec.DecodeError:
        return "reject_once"
    if outcome.outcome == "cancelled":
        return "cancelled"
    return OPTIONS.get(outcome.option_id or "", ("reject_once", ""))[0]
