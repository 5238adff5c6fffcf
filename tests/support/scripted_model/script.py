"""Parses the script language: finds the `[[…]]` directives in a user's text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_OPEN = re.compile(r"\[\[(say|think|tool|and|raw|slow|recall|tools|http|gate|hang|big|end)\b[ \t]*")
_NAME = re.compile(r"\S+?(?=\s|\]\]|\{)")
_CLOSE = "]]"
_REACT = "[[react]]"

CALLS = ("tool", "and", "raw")
"""The directives that call a tool."""


@dataclass
class Directive:
    """One `[[verb …]]`: text for most verbs, a tool's name and arguments for calls."""

    verb: str
    text: str = ""
    name: str = ""
    arguments: Any = field(default_factory=dict[str, Any])


def parse_script(text: str) -> list[Directive]:
    """Returns all directives in order and ignores everything between them."""
    directives: list[Directive] = []
    at = 0
    while match := _OPEN.search(text, at):
        verb, at = match.group(1), match.end()
        if verb in ("tool", "and"):
            at = _read_call(verb, text, at, directives)
            end = text.find(_CLOSE, at)
        else:
            end = text.find(_CLOSE, at)
            inner = text[at : end if end >= 0 else len(text)].strip(" \t")
            directives.append(_read_raw(inner) if verb == "raw" else Directive(verb, inner))
        at = end + len(_CLOSE) if end >= 0 else len(text)
    return directives


def reaction(text: str) -> str:
    """Returns the script of a message whose last block has none, as with a report: everything after `[[react]]`."""
    return text.partition(_REACT)[2]


def _read_call(verb: str, text: str, at: int, directives: list[Directive]) -> int:
    """Adds the call that starts here and returns where it ends; its JSON may contain brackets."""
    name = _NAME.match(text, at)
    if name is None:
        return at
    at = name.end()
    while at < len(text) and text[at].isspace():
        at += 1
    arguments: Any = {}
    if text.startswith("{", at):
        try:
            arguments, at = json.JSONDecoder().raw_decode(text, at)
        except json.JSONDecodeError as error:
            directives.append(Directive("say", f"bad JSON in script: {error}"))
    directives.append(Directive(verb, name=name.group(0), arguments=arguments))
    return at


def _read_raw(inner: str) -> Directive:
    name, _, rest = inner.partition(" ")
    return Directive("raw", name=name, arguments=rest.strip("\n"))
