"""Prints what an approval is about: the command that the agent wants to run, the file changes it wants to make, or the
form that it wants filled in."""

from __future__ import annotations

import difflib
import io
import json
import shlex
from collections.abc import Iterator
from typing import Any, cast

from bough.api.cli.approvals.fill_form import describe_form
from bough.api.cli.framework import output
from bough.api.cli.framework.client import Json, part, parts
from bough.api.cli.framework.formats import brief
from bough.api.cli.framework.terminal_safety import clean

STYLES = {"+": "green", "-": "red", "@": "cyan"}
NO_NEWLINE = "\\ No newline at the end"


def command(approval: Json) -> str | None:
    """Returns the full command line, if the approval is about one."""
    value: Any = part(part(approval, "toolCall"), "rawInput").get("command")
    if isinstance(value, list):
        return shlex.join(str(word) for word in cast("list[Any]", value))
    return value if isinstance(value, str) and value else None


def tool(approval: Json) -> str | None:
    """Returns the name of Bough's own tool, if the approval is about a call of one."""
    name: Any = part(approval, "toolCall").get("tool")
    return name if approval.get("toolKind") == "call" and isinstance(name, str) else None


def diffs(approval: Json) -> list[Json]:
    """Returns the file changes that the approval is about."""
    changes = [change for change in parts(part(approval, "toolCall"), "content") if change.get("type") == "diff"]
    return [change for change in changes if isinstance(change.get("newText"), str)]


def about(approval: Json, cwd: str = "") -> str:
    """Describes it on one line: the command, the changed files with their line counts, or the agent's title."""
    prefix = f"{cwd}/" if cwd else ""
    line = command(approval)
    if line is not None:
        return brief(line, 500)
    changed = [f"{str(change.get('path')).removeprefix(prefix)} {_size(change)}" for change in diffs(approval)]
    return brief(", ".join(changed) or str(approval["title"]), 500)


def draw(approval: Json) -> None:
    """Prints the full command, changes or form, or the raw tool call if there is none of these."""
    lines = list(describe(approval))
    for text, style in lines or [(_as_json(part(approval, "toolCall")), "dim")]:
        output.line(text, style)


def describe(approval: Json) -> Iterator[tuple[str, str]]:
    """Yields the lines of the full command, changes or arguments, each with its style; nothing for other tool calls."""
    call = part(approval, "toolCall")
    if (name := tool(approval)) is not None:
        yield clean(name), "bold"
        for text in _arguments(part(call, "arguments")):
            yield text, ""
        return
    if approval.get("toolKind") == "question":
        yield from ((text, "") for text in describe_form(call))
        if answer := part(approval, "answer"):
            yield "", ""
            yield f"Answer: {answer['action']}", "bold"
            yield from ((text, "") for text in _arguments(part(answer, "content")))
        return
    line = command(approval)
    if line is not None:
        for number, text in enumerate(line.split("\n")):
            yield f"{'  ' if number else '$ '}{text}", "bold"
        more = {name: value for name, value in part(call, "rawInput").items() if name != "command"}
        if more:
            yield _as_json(more), "dim"
    for change in diffs(approval):
        for text in _lines(change):
            yield text, STYLES.get(text[:1], "")


def _arguments(arguments: Json) -> Iterator[str]:
    """Yields each argument on one line; multi-line texts below their names."""
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines = clean(text).split("\n")
        if len(lines) == 1:
            yield f"  {clean(name)}: {lines[0]}"
            continue
        yield f"  {clean(name)}:"
        yield from (f"    {line}" for line in lines)


def _as_json(value: Json) -> str:
    return clean(json.dumps(value, indent=2, ensure_ascii=False))


def _sides(change: Json) -> tuple[list[str], list[str]]:
    old, new = (str(change.get(name) or "") for name in ("oldText", "newText"))
    before, after = (list(io.StringIO(text, newline="\n")) for text in (old, new))
    return before, after


def _size(change: Json) -> str:
    """Describes how many lines are added and removed."""
    before, after = _sides(change)
    if change.get("oldText") is None:
        return f"(new, {len(after)} lines)"
    opcodes = difflib.SequenceMatcher(None, before, after).get_opcodes()
    removed = sum(end - start for kind, start, end, _, _ in opcodes if kind != "equal")
    added = sum(end - start for kind, _, _, start, end in opcodes if kind != "equal")
    return f"(+{added} -{removed})"


def _lines(change: Json) -> Iterator[str]:
    """Yields a unified diff, line by line."""
    before, after = _sides(change)
    path = str(change.get("path"))
    name = "/dev/null" if change.get("oldText") is None else path
    for text in difflib.unified_diff(before, after, name, path):
        yield text.removesuffix("\n")
        if text[:1] in "+- " and not text.endswith("\n"):
            yield NO_NEWLINE
