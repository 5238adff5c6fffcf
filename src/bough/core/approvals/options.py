"""Chooses among the options that an agent offers with its question."""

from __future__ import annotations

import msgspec

from bough.model.approval import Approval, Decision, Option

KIND_OF: dict[Decision, str] = {"allow": "allow_once", "allow_always": "allow_once", "deny": "reject_once"}


def options_of(approval: Approval) -> list[Option]:
    """Returns the options that an approval offers."""
    return msgspec.json.decode(approval.options, type=list[Option])


def once(options: list[Option], decision: Decision) -> Option | None:
    """Returns the option that carries a decision for this one time; ids differ between agents, kinds do not.

    Returns None if several options allow: they answer a question of another sort, and only a person can choose.
    """
    matching = [option for option in options if option.kind == KIND_OF[decision]]
    return matching[0] if len(matching) == 1 or (matching and decision == "deny") else None


def why_not_once(options: list[Option]) -> str:
    """Says why no single option allows this once."""
    if any(option.kind == KIND_OF["allow"] for option in options):
        return "the agent offers several ways to allow this; choose one of them"
    return "the agent offers no way to allow this once; it can only be denied"


def decision_of(option: Option) -> Decision:
    """Returns the decision that an option stands for."""
    if option.kind.startswith("reject"):
        return "deny"
    return "allow_always" if option.kind == "allow_always" else "allow"
