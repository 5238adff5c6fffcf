"""Finds the cause of an agent's error: in its message, in the JSON inside its message, or in its data, where each
adapter has a place of its own for it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, cast

from bough.agents.errors import AgentRefused

# Error messages that say only that there was an error. The cause is then in the error's data.
SAYS_NOTHING = re.compile(
    r"(?i)((an? )?(internal|server|unknown|unexpected|request|json-rpc|api) ?)*(error|failure)( occurred)?"
    r"|invalid (params|request)|request failed|something went wrong|\[object Object\]|",
    re.ASCII,
)
# Where agents put the cause in the error's data, and what it was caused by in turn, the most telling first.
CAUSES = (
    *("message", "details", "detail", "error", "errors", "reason", "cause", "description", "error_description"),
    *("errorMessage", "responseBody", "body", "data", "stderr", "stack"),
)
# Data is nested a few levels deep; agents choose it, so there is an end.
DEEPEST = 6
# Texts that are joined to one sentence. More of them would repeat each other.
MOST_TEXTS = 3
LONGEST_TEXT = 2000
# The start of a JSON value inside a sentence.
_JSON_START = re.compile(r"[\[{]\s*[\"{\[]")


def cause(error: AgentRefused) -> str:
    """Returns the agent's words for an error, with the causes that its data names."""
    words = unwrapped(error.agent_message.removeprefix("Internal error: ").strip())
    data: Any = error.data
    for detail in texts_in(data):
        if detail in words or says_nothing(detail):
            continue
        is_whole = words.rstrip(".:") in detail or says_nothing(words)
        words = detail if is_whole else f"{words.rstrip('.:')}: {detail}"
    kind = cast("dict[str, Any]", data).get("errorKind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind and kind not in words:
        words = f"{words} ({kind})" if words else kind
    return words


def says_nothing(words: str) -> bool:
    """Tells whether an error message says only that there was an error."""
    return SAYS_NOTHING.fullmatch(words.strip(" .:!")) is not None


def unwrapped(words: str) -> str:
    """Returns the message inside an error that the agent passes on as its model's service sent it: the words around the
    JSON, and the message in it."""
    for _ in range(DEEPEST):
        start = _JSON_START.search(words)
        if start is None:
            break
        value, rest = _decoded(words[start.start() :])
        message = next(texts_in(value), "") if isinstance(value, dict | list) else ""
        if not message:
            break
        before, after = words[: start.start()].strip(), rest.strip()
        if says_nothing(before):
            before = ""
        words = " ".join(part for part in (before, message, after) if part)
    return words


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yields up to a few texts that tell a cause, from the data of an error."""
    yield from itertools.islice(_texts(value, depth), MOST_TEXTS)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        return
    if isinstance(value, str):
        text = unwrapped(_first_lines(value)) if depth < DEEPEST else value
        if text and not says_nothing(text):
            yield text
    elif isinstance(value, list):
        for item in cast("list[Any]", value)[:MOST_TEXTS]:
            yield from _texts(item, depth + 1)
    elif isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        known: list[str] = []
        for name in CAUSES:
            for text in _texts(fields.get(name), depth + 1):
                # A stack repeats its message, and a message often quotes its cause.
                if not any(text in other or other in text for other in known):
                    known.append(text)
                    yield text


def _first_lines(text: str) -> str:
    """Returns a text without the stack below it."""
    lines = text.strip()[:LONGEST_TEXT].splitlines()
    end = next((number for number, line in enumerate(lines) if re.match(r"\s+at ", line)), len(lines))
    return "\n".join(lines[:end]).strip()


def _decoded(text: str) -> tuple[Any, str]:
    """Returns the JSON value at the start of a text, and the text behind it; None if there is none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None, ""
    return value, text[end:]
