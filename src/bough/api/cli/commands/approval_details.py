"""What a question of an agent is about, for people: the command that it wants to run, the change that it wants to make.
Listing and answering questions is `approvals`."""

from __future__ import annotations

import difflib
import io
import json
import shlex
from collections.abc import Iterator
from typing import Any, cast

from bough.api.cli.framework import output
from bough.api.cli.framework.client import Json, part, parts
from bough.api.cli.framework.formats import brief, clean

STYLES = {"+": "green", "-": "red", "@": "cyan"}
NO_NEWLINE = "\\ No newline at the end"


def command(approval: Json) -> str | None:
    """The whole command line, if it is about one."""
    found: Any = part(part(approval, "toolCall"), "rawInput").get("command")
    if isinstance(found, list):
        return shlex.join(str(word) for word in cast("list[Any]", found))
    return found if isinstance(found, str) and found else None


def tool(approval: Json) -> str | None:
    """The tool of Bough's own that is to be called, if it is about one."""
    found: Any = part(approval, "toolCall").get("tool")
    return found if approval.get("toolKind") == "call" and isinstance(found, str) else None


def diffs(approval: Json) -> list[Json]:
    """The changes of files that it is about."""
    found = [one for one in parts(part(approval, "toolCall"), "content") if one.get("type") == "diff"]
    return [one for one in found if isinstance(one.get("newText"), str)]


def about(approval: Json, cwd: str = "") -> str:
    """What it is about, in a line: the command, the files with how much changes in each, else the agent's own words."""
    inside = f"{cwd}/" if cwd else ""
    line = command(approval)
    if line is not None:
        return brief(line, 500)
    changed = [f"{str(one.get('path')).removeprefix(inside)} {_size(one)}" for one in diffs(approval)]
    return brief(", ".join(changed) or str(approval["title"]), 500)


def draw(approval: Json) -> None:
    """The command or the changes in full; where there is neither, the tool call as it came."""
    call = part(approval, "toolCall")
    if (name := tool(approval)) is not None:
        output.line(clean(name), "bold")
        _draw_arguments(part(call, "arguments"))
        return
    line, changes = command(approval), diffs(approval)
    if line is not None:
        for number, text in enumerate(line.split("\n")):
            output.line(f"{'  ' if number else '$ '}{text}", "bold")
        more = {name: value for name, value in part(call, "rawInput").items() if name != "command"}
        if more:
            output.line(_written(more), "dim")
    for change in changes:
        for text in _lines(change):
            output.line(text, STYLES.get(text[:1], ""))
    if line is None and not changes:
        output.line(_written(call), "dim")


def _draw_arguments(arguments: Json) -> None:
    """Each argument on a line; long texts as they are, below their names."""
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines = clean(text).split("\n")
        if len(lines) == 1:
            output.line(f"  {clean(name)}: {lines[0]}")
            continue
        output.line(f"  {clean(name)}:")
        for one in lines:
            output.line(f"    {one}")


def _written(value: Json) -> str:
    return clean(json.dumps(value, indent=2, ensure_ascii=False))


def _sides(change: Json) -> tuple[list[str], list[str]]:
    old, new = (str(change.get(name) or "") for name in ("oldText", "newText"))
    before, after = (list(io.StringIO(text, newline="\n")) for text in (old, new))
    return before, after


def _size(change: Json) -> str:
    """How many lines come and go."""
    before, after = _sides(change)
    if change.get("oldText") is None:
        return f"(new, {len(after)} lines)"
    moves = difflib.SequenceMatcher(None, before, after).get_opcodes()
    gone = sum(end - start for kind, start, end, _, _ in moves if kind != "equal")
    come = sum(end - start for kind, _, _, start, end in moves if kind != "equal")
    return f"(+{come} -{gone})"


def _lines(change: Json) -> Iterator[str]:
    """A unified diff, line by line."""
    before, after = _sides(change)
    path = str(change.get("path"))
    name = "/dev/null" if change.get("oldText") is None else path
    for text in difflib.unified_diff(before, after, name, path):
        yield text.removesuffix("\n")
        if text[:1] in "+- " and not text.endswith("\n"):
            yield NO_NEWLINE
