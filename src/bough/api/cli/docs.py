"""The parts of the documentation that the program itself knows: its settings, commands, agents and tools. `python -m
bough.api.cli.docs DOCS` writes them between the marks in the files there; the rest is written by people."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bough import settings
from bough.api.cli import agent_docs
from bough.api.cli.base import COMMON
from bough.api.cli.commands import PROGRAM, build
from bough.api.cli.serve import default, flag, metavar
from bough.api.mcp import catalog, guide, schemas

OTHERS = "Other commands"
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
    if children is None or command.invoke_without_command:
        yield name, command
    for child, inner in (children or {}).items():
        yield from _walk(f"{name} {child}", inner)


def options(command: Any) -> list[Any]:
    """The options of a command, without those that all commands share."""
    shared = {*COMMON, "help"}
    return [param for param in command.params if _is_option(param) and param.name not in shared]


def arguments(command: Any) -> list[Any]:
    return [param for param in command.params if not _is_option(param)]


def _is_option(param: Any) -> bool:
    return param.param_type_name == "option"


def reference() -> str:
    """Every command with its sentence, its arguments and its options, under a heading for each group."""
    groups: dict[str, list[str]] = {}
    for name, command in commands():
        words = name.split()
        group = f"{PROGRAM} {words[1]}" if len(words) > 2 or hasattr(command, "commands") else OTHERS
        groups.setdefault(group, []).append(_entry(name, command))
    parts: list[str] = []
    for group in sorted(groups, key=lambda group: group == OTHERS):
        parts += [f"### {group}\n", *groups[group]]
    return "\n".join(parts)


def _entry(name: str, command: Any) -> str:
    written = [_named(param) if param.required else f"[{_named(param)}]" for param in arguments(command)]
    first, _, more = inspect.cleandoc(command.help or "").partition("\n\n")
    told = [f"**`{' '.join([name, *written])}`**\n{first}"]
    if more:
        told.append(" ".join(more.split()))
    rows = [f"- `{_named(param)}`: {param.help}" for param in arguments(command) if param.help]
    if name == f"{PROGRAM} serve":
        rows = ["- every setting as a flag: see [settings](settings.md)"]
    else:
        rows += [f"- {_flags(param)}: {param.help}{_default(param)}" for param in options(command)]
    if rows:
        told.append("\n".join(rows))
    return "\n\n".join(told) + "\n"


def _named(param: Any) -> str:
    return param.metavar or (param.name or "").upper()


def _flags(param: Any) -> str:
    """All spellings of an option, the long one first, with what stands for its value."""
    spelled = [*sorted(param.opts, key=len, reverse=True), *param.secondary_opts]
    spelled[0] = f"{spelled[0]} {param.metavar}".strip()
    return ", ".join(f"`{one}`" for one in spelled)


def _default(param: Any) -> str:
    return f" Default `{param.default}`." if param.default not in (None, False) and not param.required else ""


EFFECTS = {"read": "reads", "change": "asks", "end": "asks, may end something"}


def tools_table() -> str:
    """Every tool of Bough's own with its sentence and what it takes, in the order in which agents are told of them."""
    rows = ["| tool | takes (`?`: may be left out) | | |", "|---|---|---|---|"]
    for tool in catalog.TOOLS:
        schema = schemas.input_schema(tool)
        required = schema.get("required", [])
        taken = ", ".join(f"`{name}`" if name in required else f"`{name}`?" for name in schema["properties"])
        rows.append(f"| `{tool.name}` | {taken or 'nothing'} | {tool.about} | {EFFECTS[tool.effect]} |")
    return "\n".join(rows)


def prompts_table() -> str:
    """The prompts that agents and people can choose, with what each takes."""
    rows = ["| prompt | takes | |", "|---|---|---|"]
    for one in guide.prompts():
        taken = ", ".join(f"`{argument.name}`{'' if argument.required else '?'}" for argument in one.arguments)
        rows.append(f"| `{one.name}` | {taken} | {one.about} |")
    return "\n".join(rows)


# Page → mark → what stands there.
PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "settings.md": {"settings": settings_table},
    "cli.md": {"commands": reference},
    "agents.md": agent_docs.PARTS,
    "mcp.md": {"tools": tools_table, "prompts": prompts_table},
    "guides/orchestration.md": {"guide": guide.text},
}


def renewed(text: str, mark: str, part: str) -> str:
    """A page with the part between its marks written anew."""
    inside = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    return inside.sub(lambda found: f"{found[1]}{part}\n{found[2]}", text)


def write(folder: Path) -> None:
    for file, parts in PARTS.items():
        path = folder / file
        text = path.read_text("utf-8")
        for mark, make in parts.items():
            text = renewed(text, mark, make())
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
