"""Parses the `[[name …]]` directives of a prompt and their arguments. The turn carries them out."""

import math
from collections.abc import Callable
from typing import Any

import msgspec

# Bounds that only a typing mistake exceeds; a turn at a bound still ends.
MOST_CHUNKS = 1_000_000
MOST_SECONDS = 86_400.0


class Say(msgspec.Struct, frozen=True):
    text: str


class Think(msgspec.Struct, frozen=True):
    text: str


class Slow(msgspec.Struct, frozen=True):
    chunks: int
    seconds: float


class Flood(msgspec.Struct, frozen=True):
    chunks: int


class ShowPlan(msgspec.Struct, frozen=True):
    steps: list[str]


class WriteFile(msgspec.Struct, frozen=True):
    path: str
    text: str


class RunShell(msgspec.Struct, frozen=True):
    command: str


class CallMcpTool(msgspec.Struct, frozen=True):
    tool: str
    arguments: dict[str, Any]


class AskUser(msgspec.Struct, frozen=True):
    """A question to the user: a form by its JSON Schema, or an address by its `url`."""

    question: dict[str, Any]


class Fail(msgspec.Struct, frozen=True):
    text: str


class PlainDirective(msgspec.Struct, frozen=True):
    """A directive without arguments: recall, status, help, crash or hang."""

    name: str


class Malformed(msgspec.Struct, frozen=True):
    """A text that looks like a directive, and the reason why it is not one."""

    source: str
    reason: str


Directive = (
    Say
    | Think
    | Slow
    | Flood
    | ShowPlan
    | WriteFile
    | RunShell
    | CallMcpTool
    | AskUser
    | Fail
    | PlainDirective
    | Malformed
)


def parse(text: str) -> list[Directive]:
    """Returns the directives of a text in order. Text between them is ignored."""
    directives: list[Directive] = []
    start = text.find("[[")
    while start != -1:
        end = _closing(text, start)
        if end is None:
            directives.append(Malformed(text[start:], "it is never closed with ]]"))
            break
        directives.append(_read(text[start:end]))
        start = text.find("[[", end)
    return directives


def _closing(text: str, start: int) -> int | None:
    """Returns the end of the directive that opens at `start`, or None if it is not closed.

    Counting single brackets handles `[[mcp t {"a": [1, [2]]}]]`. Where they do not balance, as in `[[say :-] ]]`,
    only pairs are counted.
    """
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "[") - (text[index] == "]")
        if depth == 0:
            if text[index - 1] == "]":
                return index + 1
            break
    pairs, index = 0, start
    while index < len(text) - 1:
        pair = text[index : index + 2]
        if pair in ("[[", "]]"):
            pairs += 1 if pair == "[[" else -1
            index += 2
            if pairs == 0:
                return index
        else:
            index += 1
    return None


def _read(source: str) -> Directive:
    name, rest = _split(source[2:-2].lstrip())
    reader = _READERS.get(name)
    if reader is None:
        return Malformed(source, f"there is no directive {name!r}")
    try:
        return reader(name, rest)
    except ValueError as error:
        return Malformed(source, str(error))


def _split(text: str) -> tuple[str, str]:
    """Splits off the first word and the one whitespace character after it. The rest is unchanged."""
    for index, char in enumerate(text):
        if char.isspace():
            return text[:index], text[index + 1 :]
    return text, ""


def _simple(name: str, rest: str) -> PlainDirective:
    if rest.strip():
        raise ValueError(f"{name} takes no argument")
    return PlainDirective(name)


def _chunks(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MOST_CHUNKS or len(text) > 9:
        raise ValueError(f"{text!r} is not a number of chunks from 1 to {MOST_CHUNKS}")
    return int(text)


def _slow(_: str, rest: str) -> Slow:
    words = rest.split()
    if len(words) != 2:
        raise ValueError("slow takes a number of chunks and a number of seconds")
    chunks = _chunks(words[0])
    try:
        seconds = float(words[1])
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MOST_SECONDS:
        raise ValueError(f"{words[1]!r} is not a number of seconds from 0 to {MOST_SECONDS:.0f}")
    return Slow(chunks, seconds)


def _plan(_: str, rest: str) -> ShowPlan:
    steps = [step.strip() for step in rest.split(";") if step.strip()]
    if not steps:
        raise ValueError("plan takes steps, with ; between them")
    return ShowPlan(steps)


def _write(_: str, rest: str) -> WriteFile:
    path, text = _split(rest.lstrip())
    if not path or "\0" in path:
        raise ValueError("write takes a path and a text")
    return WriteFile(path, text)


def _run(_: str, rest: str) -> RunShell:
    if not rest.strip() or "\0" in rest:
        raise ValueError("run takes a command")
    return RunShell(rest)


def _mcp(_: str, rest: str) -> CallMcpTool:
    tool, arguments = _split(rest.strip())
    if not tool:
        raise ValueError("mcp takes the name of a tool and its arguments as a JSON object")
    try:
        return CallMcpTool(tool, msgspec.json.decode(arguments.strip() or "{}", type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(f"the arguments are not a JSON object: {error}") from error


def _ask(_: str, rest: str) -> AskUser:
    try:
        question = msgspec.json.decode(rest.strip() or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(f"the question is not a JSON object: {error}") from error
    if not ({"properties", "url"} & question.keys()):
        raise ValueError('ask takes a JSON object with "properties" or "url", and a "message"')
    return AskUser(question)


_READERS: dict[str, Callable[[str, str], Directive]] = {
    "say": lambda _, rest: Say(rest),
    "think": lambda _, rest: Think(rest),
    "slow": _slow,
    "flood": lambda _, rest: Flood(_chunks(rest.strip())),
    "plan": _plan,
    "write": _write,
    "run": _run,
    "mcp": _mcp,
    "ask": _ask,
    "recall": _simple,
    "status": _simple,
    "help": _simple,
    "fail": lambda _, rest: Fail(rest),
    "crash": _simple,
    "hang": _simple,
}

HELP = """\
[[say TEXT]] [[think TEXT]] [[slow N SECONDS]] [[flood N]] [[plan A; B; C]]
[[write PATH TEXT]] [[run COMMAND]] [[mcp TOOL {json}]] [[ask {schema}]]
[[recall]] [[status]] [[help]] [[fail TEXT]] [[crash]] [[hang]]"""
