"""Splits a command line into the words of its commands, roughly like a shell: enough to see which paths it names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_MOST_HERE = 4
_MOST_BRACES = 32
_MOST_REPLACED = 256 * 1024
_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+|\\\r?\n)
    |(?P<here><<-?[ \t]*(?P<mark>'[^'\n]*'|"[^"\n]*"|[^\s;&|<>()'"]+))
    |(?P<redirect>\d*(?:&>>|&>|>>|>\||>&|<>|<<<|>|<))
    |(?P<operator>&&|\|\||;;|[;&|()\r\n`]|\$\()
    |'(?P<single>[^']*)'
    |"(?P<double>(?:[^"\\]|\\.)*)"
    |\\(?P<escaped>.)
    |\$(?P<name>[A-Za-z_]\w*)
    |\$\{(?P<braced>[A-Za-z_]\w*)\}
    |(?P<plain>[^\s'"\\;&|<>()`$]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_BETWEEN = ("blank", "redirect", "operator", "here", "mark")
_ESCAPED = re.compile(r'\\(["\\$`])')
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")
_INTERPRETERS = re.compile(r"(?:ba|z|da|k|fi)?sh|python[\d.]*|perl|ruby|node|deno|bun|php|lua|tclsh|awk|ed|ex|vim?")


class ExpansionTooLong(Exception):
    """Raised for a line whose variables grow beyond what anyone writes."""


class Variables:
    """The variables of a line. What they are replaced by is limited in total, because they can double each other."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)
        self._left = _MOST_REPLACED

    def __setitem__(self, name: str, value: str) -> None:
        self._values[name] = value

    def get(self, name: str, default: str) -> str:
        value = self._values.get(name, default)
        self._left -= len(value)
        if self._left < 0:
            raise ExpansionTooLong
        return value


class Word(NamedTuple):
    """A word without its quotes; `redirect` is `>` or `<` if a redirection writes to it or reads from it."""

    text: str
    redirect: str = ""


def commands(script: str, variables: Variables) -> Iterator[list[Word]]:
    """Yields the words of each command between operators. Known variables are replaced as of the moment when the
    command is asked for. What `<<` gives a program as its input is skipped, unless the program runs it."""
    words: list[Word] = []
    pieces: list[str] = []
    redirect, marks, at = "", list[str](), 0
    skips = True
    while (token := _TOKEN.match(script, at)) is not None:
        at, kind = token.end(), token.lastgroup or ""
        if kind not in _BETWEEN:
            pieces.append(_piece(token, kind, variables))
            continue
        if pieces:
            words.append(Word("".join(pieces), redirect))
            pieces, redirect = [], ""
        if kind == "redirect":
            redirect = ">" if ">" in token[0] else "<"
        elif kind in ("here", "mark"):
            marks.append(token["mark"].strip("'\""))
        elif kind == "operator":
            if marks and token[0] in "\r\n":
                end = _after_here(script, at, marks, words) if skips else None
                # One that does not end is looked for only once: the search reads to the end.
                at, marks, skips = end or at, [], end is not None
            yield words
            words, redirect = [], ""
    if pieces:
        words.append(Word("".join(pieces), redirect))
    yield words


def expand_braces(text: str) -> list[str]:
    """Expands `{a,b}` like a shell, up to a limit."""
    texts = [text]
    while len(texts) < _MOST_BRACES and any("{" in item and _BRACES.search(item) for item in texts):
        texts = [expanded for item in texts for expanded in _expand_first(item)][:_MOST_BRACES]
    return texts


def _piece(token: re.Match[str], kind: str, variables: Variables) -> str:
    if kind in ("name", "braced"):
        return variables.get(token[kind], token[0])
    if kind == "double":
        text = _ESCAPED.sub(r"\1", token[kind])
        return _VARIABLE.sub(lambda name: variables.get(name[1] or name[2], name[0]), text)
    return token[kind]


def _after_here(script: str, at: int, marks: list[str], words: list[Word]) -> int | None:
    """Returns where the texts that a command is given as its input end; None if they do not. A line with more of them
    than anyone writes is read as commands."""
    if len(marks) > _MOST_HERE or any(_INTERPRETERS.fullmatch(os.path.basename(word.text)) for word in words):
        return at
    for mark in marks:
        end = re.compile(rf"^\t*{re.escape(mark)}$", re.MULTILINE).search(script, at)
        if end is None:
            return None
        at = end.end()
    return at


def _expand_first(text: str) -> list[str]:
    braces = _BRACES.search(text)
    if braces is None:
        return [text]
    return [text[: braces.start()] + choice + text[braces.end() :] for choice in braces[1].split(",")]
