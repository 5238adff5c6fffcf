"""Fills placeholders in the arguments of a scripted call from tool results: `{{name}}` with the last value of that name
in any of them, `{{name*}}` with all, as a list."""

from __future__ import annotations

import re
from typing import Any, cast

from tests.support.scripted_model.conversation import Conversation

_PLACE = re.compile(r"\{\{(\w+)(\*?)\}\}")


def filled(conversation: Conversation, arguments: Any) -> Any:
    """Returns the arguments with their placeholders filled; one without a value stays as it is."""
    if isinstance(arguments, dict):
        return {name: filled(conversation, value) for name, value in cast("dict[str, Any]", arguments).items()}
    if isinstance(arguments, list):
        return [filled(conversation, value) for value in cast("list[Any]", arguments)]
    if not isinstance(arguments, str):
        return arguments
    whole = _PLACE.fullmatch(arguments)
    if whole is not None and whole[2]:
        return _returned(conversation, whole[1])

    def last(place: re.Match[str]) -> str:
        return next(reversed(_returned(conversation, place[1])), place[0])

    return _PLACE.sub(last, arguments)


def _returned(conversation: Conversation, name: str) -> list[str]:
    """Returns each value of this name once, in order. Agents pass JSON on as it is, or as text inside JSON."""
    value = re.compile(rf'\\*"{name}\\*"\s*:\s*\\*"([^"\\]+)')
    values = [text for turn in conversation.turns if turn.role == "tool" for text in value.findall(turn.text)]
    return list(dict.fromkeys(values))
