"""Generates the reference of the command line for docs/reference/cli.md from the commands' own help texts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from bough.api.cli.framework.base import COMMON
from bough.api.cli.main import PROGRAM, build

OTHERS = "Other commands"


def commands() -> Iterator[tuple[str, Any]]:
    """Yields every command with its full name, in the order of the help."""
    yield from _walk(PROGRAM, build())


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children: dict[str, Any] | None = getattr(command, "commands", None)
    if children is None or command.invoke_without_command:
        yield name, command
    for child_name, child in (children or {}).items():
        if child.hidden:
            continue
        yield from _walk(f"{name} {child_name}", child)


def options(command: Any) -> list[Any]:
    """Returns the options of a command, without those that all commands share."""
    shared = {*COMMON, "help"}
    return [param for param in command.params if _is_option(param) and param.name not in shared]


def arguments(command: Any) -> list[Any]:
    """Returns the positional arguments of a command."""
    return [param for param in command.params if not _is_option(param)]


def _is_option(param: Any) -> bool:
    return param.param_type_name == "option"


def reference() -> str:
    """Describes every command with its arguments and options, under one heading per group."""
    groups: dict[str, list[str]] = {}
    for name, command in commands():
        words = name.split()
        group = f"{PROGRAM} {words[1]}" if len(words) > 2 or hasattr(command, "commands") else OTHERS
        groups.setdefault(group, []).append(_describe(name, command))
    parts: list[str] = []
    for group in sorted(groups, key=lambda group: group == OTHERS):
        parts += [f"### {group}\n", *groups[group]]
    return "\n".join(parts)


def _describe(name: str, command: Any) -> str:
    usage = [_display_name(param) if param.required else f"[{_display_name(param)}]" for param in arguments(command)]
    summary, _, details = inspect.cleandoc(command.help or "").partition("\n\n")
    paragraphs = [f"**`{' '.join([name, *usage])}`**\n{summary}"]
    if details:
        paragraphs.append(" ".join(details.split()))
    rows = [f"- `{_display_name(param)}`: {param.help}" for param in arguments(command) if param.help]
    if name == f"{PROGRAM} serve":
        rows = ["- every setting as a flag: see [settings](settings.md)"]
    else:
        rows += [f"- {_spellings(param)}: {param.help}{_default(param)}" for param in options(command)]
    if rows:
        paragraphs.append("\n".join(rows))
    return "\n\n".join(paragraphs) + "\n"


def _display_name(param: Any) -> str:
    return param.metavar or (param.name or "").upper()


def _spellings(param: Any) -> str:
    """Lists all spellings of an option, the longest first and with the placeholder of its value."""
    spellings = [*sorted(param.opts, key=len, reverse=True), *param.secondary_opts]
    spellings[0] = f"{spellings[0]} {param.metavar}".strip()
    return ", ".join(f"`{spelling}`" for spelling in spellings)


def _default(param: Any) -> str:
    return f" Default `{param.default}`." if param.default not in (None, False) and not param.required else ""


SECTIONS = {"commands": reference}
