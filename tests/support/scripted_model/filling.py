"""Places in the arguments of a scripted call that are filled from what tools have returned: `{{name}}` with the last
value of that name in any of them, `{{name*}}` with all, as a list. When a call is made is `planning`."""

from __future__ import annotations

import re
from typing import Any, cast

from tests.support.scripted_model.conversation import Conversation

_PLACE = re.compile(r"\{\{(\w+)(\*?)\}\}")


def filled(conversation: Conversation, arguments: Any) -> Any:
    """The arguments with their places filled; one that nothing was returned for stays as it is."""
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
    """Each value of this name once, in order; agents hand JSON on as it is, or as text in JSON once more."""
    value = re.compile(rf'\\*"{name}\\*"\s*:\s*\\*"([^"\\]+)')
    found = [one for turn in conversation.turns if turn.role == "tool" for one in value.findall(turn.text)]
    return list(dict.fromkeys(found))
