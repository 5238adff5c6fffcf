"""Generates what docs/reference/agents.md says about the agents in the catalog: how to get them, what each mode means
to them, what Bough sets for them and what it asks about before they read a repository's files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from bough.agents.catalog import CatalogEntry, load_catalog
from bough.agents.catalog.entry import SettingsFolder, StartSettings
from bough.model.session import MODES, RANK

BY_RANK = sorted(MODES, key=RANK.__getitem__)
USAGE = {
    "turn": "",
    "session": "It reports the tokens of the whole session; Bough computes the difference.",
    "call": "It reports the tokens of the last model call, not of the turn.",
    "none": "It reports no tokens.",
}


def entries() -> list[CatalogEntry]:
    """Returns the agents of the catalog, without those that Bough brings itself."""
    # A data folder that does not exist; its name is a placeholder.
    return [entry for entry in load_catalog(Path("{data}")).entries() if entry.package is not None]


def agents_table() -> str:
    """Lists the agents with their packages and how to sign in."""
    rows = ["| name | agent | package | its key or account |", "|---|---|---|---|"]
    for entry in entries():
        package = f"`{entry.package.npm}` {entry.package.version}" if entry.package is not None else ""
        rows.append(f"| `{entry.name}` | {entry.title}. {entry.description} | {package} | {entry.login.how} |")
    return "\n".join(rows)


def modes_table() -> str:
    """Maps every mode to each agent's own, followed by the notes on single cells."""
    known = entries()
    rows = [f"| | {' | '.join(entry.title for entry in known)} |", "|---" * (len(known) + 1) + "|"]
    rows += [f"| **`{name}`** | {' | '.join(_cell(entry, name) for entry in known)} |" for name in BY_RANK]
    rows.append("")
    for entry in known:
        rows.append(f"**{entry.title}**\n")
        rows += [f"- `{name}`: {note}" for name in BY_RANK if (note := entry.mode(name).note)]
        rows.append("")
    return "\n".join(rows).rstrip()


def _cell(entry: CatalogEntry, name: Any) -> str:
    mode = entry.mode(name)
    own = mode.mode.rpartition("#")[2]
    return f"`{own}`" + (f", start `{mode.start}`" if mode.start else "")


def starts_table() -> str:
    """Lists how each agent is started and what Bough sets for it."""
    rows = ["| agent | command | always set | start | set for it |", "|---|---|---|---|---|"]
    for entry in entries():
        command = f"`{' '.join(_plain(part) for part in entry.command)}`"
        always = _codes(f"{name}={_plain(value)}" for name, value in entry.env.items())
        for index, (name, start) in enumerate((entry.start or {"": StartSettings()}).items()):
            home = _home(entry.home) if entry.home is not None else ()
            details = "; ".join([*_set_for(start), *home, *_pinned(entry)])
            first = (f"`{entry.name}`", command, always) if index == 0 else ("", "", "")
            rows.append(f"| {' | '.join(first)} | {f'`{name}`' if name else ''} | {details or 'nothing'} |")
    return "\n".join(rows)


def _set_for(start: StartSettings) -> Iterator[str]:
    if start.env:
        yield _codes(f"{name}={_plain(value)}" for name, value in start.env.items())
    for name, table in start.json_env.items():
        yield f"in `{name}` {_codes(_keys(table))}"
    if start.args:
        yield f"arguments `{' '.join(start.args)}`"
    if start.meta:
        yield f"`_meta` of the session `{json.dumps(start.meta)}`"


def _home(home: SettingsFolder) -> Iterator[str]:
    if home.variable:
        yield f"`{home.variable}` points to a folder that Bough manages"
    for name, table in home.merge.items():
        omitted = f", without the user's {_codes(home.drop[name])}" if home.drop.get(name) else ""
        yield f"{_codes(_keys(table))} in its copy of `{home.user}/{name}`{omitted}"
    if home.link:
        yield f"linked from `{home.user}`: {_codes(home.link)}"
    if own_files := [*home.files, *home.programs]:
        yield f"Bough's own files: {_codes(own_files)}"


def _pinned(entry: CatalogEntry) -> Iterator[str]:
    if entry.pinned_options:
        options = _codes(f"{name}={value}" for name, value in entry.pinned_options.items())
        yield f"reset before each prompt: option {options}"


def repository_table() -> str:
    """Lists the files of a repository that Bough asks about, that restrict an agent, or that Bough passes on."""
    headings = (
        "agent",
        "files Bough asks about before it starts",
        "files that make it start restricted",
        "instructions that Bough passes on",
    )
    rows = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    for entry in entries():
        repository = entry.repository
        restricted = _codes(repository.restrict)
        if repository.restrict:
            switched = _codes(f"{name}={value}" for name, value in repository.restrict_env.items())
            restricted += f": started with {switched}. {repository.restrict_note}"
        if repository.restrict_instructions:
            restricted += f" Bough then passes on {_codes(repository.restrict_instructions)}."
        cells = (_codes(repository.ask), restricted, _codes(repository.instructions))
        rows.append(f"| `{entry.name}` | {' | '.join(cell or '–' for cell in cells)} |")
    return "\n".join(rows)


def quirks_list() -> str:
    """Lists what each agent does differently."""
    return "\n".join(f"- **{entry.title}**: {' '.join(_quirks(entry)) or 'nothing.'}" for entry in entries())


def _quirks(entry: CatalogEntry) -> Iterator[str]:
    quirks, corrections = entry.quirks, entry.corrections
    if not entry.resume:
        yield "Its conversations end with its process: Bough keeps that running, and sends the transcript if it dies."
    offered = {"load": corrections.load, "resume": corrections.resume, "fork": corrections.fork}
    if off := [name for name, value in offered.items() if value is False]:
        yield f"It offers {_codes(off)}, which Bough does not use."
    if not corrections.stdio:
        yield "It accepts no MCP server that it would have to start itself."
    if quirks.leaves_commands:
        yield "Its commands keep running when a turn is stopped: Bough ends its process."
    if quirks.start_alone:
        yield "Bough starts one process of it at a time."
    if quirks.failures or quirks.failure_meta:
        signs = [*quirks.failures, *([quirks.failure_meta] if quirks.failure_meta else [])]
        yield f"A failed turn ends like a successful one; Bough recognizes it by {_codes(signs)}."
    if signs := [*quirks.unauthenticated, *quirks.unauthorized]:
        yield f"Bough recognizes a missing key by {_codes(signs)}."
    if quirks.noise:
        yield f"Bough drops this from its output: {_codes(quirks.noise)}."
    if quirks.fork_elsewhere:
        yield "It can fork a conversation into another folder."
    if USAGE[quirks.usage]:
        yield USAGE[quirks.usage]
    yield from _settings(entry)


def _settings(entry: CatalogEntry) -> Iterator[str]:
    if entry.quirks.mode_tools:
        yield f"It asks to change its mode through {_codes(entry.quirks.mode_tools)}."
    if entry.tools.plans:
        tools = _codes(entry.tools.plans)
        yield f"It writes its own list of steps with {tools}: Bough allows that, and shows the list if it is reported."
    if entry.quirks.sandboxed:
        yield "It stays in its sandbox in every mode, and asks before leaving it."
    if entry.effort_option is None:
        yield "It has no setting for effort."


def _keys(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the full names of the settings in a table; a table of tables is represented by its members."""
    for name, value in table.items():
        inner = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if inner and all(isinstance(member, dict) for member in inner.values()):
            yield from _keys(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text.replace('|', chr(92) + '|')}`" for text in texts)


def _plain(text: str) -> str:
    return text.replace(sys.executable, "{python}")


SECTIONS = {
    "agents": agents_table,
    "modes": modes_table,
    "starts": starts_table,
    "repository": repository_table,
    "quirks": quirks_list,
}
