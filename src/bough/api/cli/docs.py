"""The parts of the documentation that the program itself knows: its settings and its commands. `python -m
bough.api.cli.docs DOCS` writes them between the marks in the files there; the rest is written by people."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bough import settings
from bough.api.cli.commands import PROGRAM, build
from bough.api.cli.serve import default, flag, metavar

REGENERATE = "python -m bough.api.cli.docs docs"


def settings_table() -> str:
    """Every setting with its flag, its variables, its default and its sentence."""
    rows = ["| setting | flag | variable | default | |", "|---|---|---|---|---|"]
    for name in settings.FIELDS:
        names = [settings.variable(name), *([settings.ALIASES[name]] if name in settings.ALIASES else [])]
        value = f"`{default(name)}`" if default(name) else ""
        shown = f"{flag(name)} {metavar(name)}".strip().replace("|", "\\|")
        variables = ", ".join(f"`{one}`" for one in names)
        rows.append(f"| `{name}` | `{shown}` | {variables} | {value} | {settings.describe(name)} |")
    return "\n".join(rows)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command by its whole name, in the order of the help."""
    yield from _walk(PROGRAM, build())


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children: dict[str, Any] | None = getattr(command, "commands", None)
    if children is None:
        yield name, command
        return
    for child, inner in children.items():
        yield from _walk(f"{name} {child}", inner)


def options(command: Any) -> list[str]:
    """The flags of a command, the long ones, without those that all commands share."""
    shared = ("--data", "--url", "--token", "--json", "--help")
    flags = [max(param.opts, key=len) for param in command.params if param.param_type_name == "option"]
    return [one for one in flags if one not in shared]


def commands_table() -> str:
    """Every command with its arguments, its options and its sentence."""
    rows = ["| command | options | |", "|---|---|---|"]
    for name, command in commands():
        arguments = [param.metavar or (param.name or "").upper() for param in command.params if not _is_option(param)]
        shown = " ".join([name, *arguments]).replace("|", "\\|")
        told = ", ".join(f"`{one}`" for one in options(command))
        if name == f"{PROGRAM} serve":
            told = "[every setting](settings.md)"
        sentence = inspect.cleandoc(command.help or "").partition("\n\n")[0]
        rows.append(f"| `{shown}` | {told} | {sentence} |")
    return "\n".join(rows)


def _is_option(param: Any) -> bool:
    return param.param_type_name == "option"


PARTS = {"settings.md": ("settings", settings_table), "cli.md": ("commands", commands_table)}


def renewed(text: str, mark: str, part: str) -> str:
    """A page with the part between its marks written anew."""
    inside = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    return inside.sub(lambda found: f"{found[1]}{part}\n{found[2]}", text)


def write(folder: Path) -> None:
    for file, (mark, make) in PARTS.items():
        path = folder / file
        path.write_text(renewed(path.read_text("utf-8"), mark, make()), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
