"""Reads the files that describe agents: those that come with Bough, and the user's own, which take precedence."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import structlog

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.known_agents import BrokenEntry, Catalog
from bough.agents.catalog.settings_folder import merged
from bough.errors import Invalid

log = structlog.get_logger("bough.agents")

BUILT_IN = Path(__file__).parent


@cache
def usual_agents() -> str:
    """Returns the names of the agents that most people use, for descriptions of arguments."""
    tables = [_table(path) for path in BUILT_IN.glob("*.toml")]
    usual = [table for table in tables if "preference" in table and not table.get("comes-with-bough")]
    return ", ".join(table["name"] for table in sorted(usual, key=lambda table: table["preference"]))


def load_catalog(data: Path) -> Catalog:
    """Reads the built-in files, then the user's in `agents/` of the data folder, which take precedence.

    A user's file that cannot be read is left out and listed as broken.
    """
    tables = {path.stem: _table(path) for path in sorted(BUILT_IN.glob("*.toml"))}
    built_in = {name: _read(table, BUILT_IN / f"{name}.toml", data) for name, table in tables.items()}
    entries = dict(built_in)
    broken: list[BrokenEntry] = []
    for path in sorted((data / "agents").glob("*.toml")):
        try:
            table = _table(path)
            if (base := table.pop("extends", None)) is not None:
                table = merged(_base(tables, base, path), table)
            entry = _read(table, path, data)
        except Invalid as error:
            log.warning("bad_agent_file", path=str(path), error=error.message)
            broken.append(BrokenEntry(path.stem, str(path), error.message))
        else:
            entries[entry.name] = entry
    return Catalog(data, list(entries.values()), broken, built_in.values())


def check_file(text: str, path: Path, data: Path) -> CatalogEntry:
    """Returns the entry that a file with this text would be; raises `Invalid` if it would be broken."""
    return _read({"name": path.stem} | tomllib.loads(text), path, data)


def _table(path: Path) -> dict[str, Any]:
    try:
        return {"name": path.stem} | tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # Errors of text, TOML and too long numbers are ValueErrors.
        raise Invalid("bad_agent_file", f"{path} does not describe an agent: {error}") from error


def _base(tables: dict[str, dict[str, Any]], name: Any, path: Path) -> dict[str, Any]:
    if not isinstance(name, str) or name not in tables:
        raise Invalid("bad_agent_file", f"{path} extends {name!r}, which is not one of {', '.join(sorted(tables))}.")
    return tables[name]


def _read(table: dict[str, Any], path: Path, data: Path) -> CatalogEntry:
    try:
        entry = msgspec.convert(table, CatalogEntry)
    except msgspec.ValidationError as error:
        raise Invalid("bad_agent_file", f"{path} does not describe an agent: {error}") from error
    if not entry.command:
        raise Invalid(
            "bad_agent_file", f'{path} names no command. Add one, for example: command = ["my-agent", "--acp"]'
        )
    unknown = {mode.start for name in entry.modes if (mode := entry.mode(name)).start and mode.start not in entry.start}
    if unknown:
        raise Invalid("bad_agent_file", f"{path} has no [start.{sorted(unknown)[0]}], which its modes name.")
    _check_patterns(entry, path)
    values = {"{python}": sys.executable, "{data}": str(data)}
    entry.command = [_filled(part, values) for part in entry.command]
    entry.login.command = [_filled(part, values) for part in entry.login.command]
    entry.conversations.terminal = [
        _filled(part, {"{python}": sys.executable}) for part in entry.conversations.terminal
    ]
    entry.env = {name: _filled(value, values) for name, value in entry.env.items()}
    if entry.home is not None:
        entry.home.programs = {
            name: [_filled(part, values) for part in command] for name, command in entry.home.programs.items()
        }
    entry.origin = str(path)
    return entry


def _check_patterns(entry: CatalogEntry, path: Path) -> None:
    """Raises `Invalid` for a regular expression that cannot be used; a turn would otherwise meet it first."""
    quirks = entry.quirks
    by_file = (*entry.login.contents.values(), *entry.login.named_in.values())
    of_logins = [pattern for patterns in by_file for pattern in patterns]
    of_texts = (*quirks.failures, *quirks.unauthenticated, *quirks.unauthorized, *quirks.broken, *quirks.noise)
    for pattern in (*of_texts, *of_logins, *entry.limits.patterns(), *entry.conversations.not_prompts):
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise Invalid("bad_agent_file", f"{path}: {pattern!r} is not a regular expression: {error}.") from error


def _filled(text: str, values: dict[str, str]) -> str:
    if "\0" in text:
        raise Invalid("bad_agent_file", f"{text!r} contains a NUL character, which no command can have.")
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return os.path.expanduser(text)
