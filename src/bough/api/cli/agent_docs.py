"""What docs/agents.md says about the agents that come described, taken from the catalog: how to get them, what modes
mean to them, what is set for them, what of a repository they are kept from. `docs` puts it between the marks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from bough.agents.catalog import Entry, load_catalog
from bough.agents.catalog.entry import Home, Start
from bough.model.session import MODES, RANK

BY_RANK = sorted(MODES, key=RANK.__getitem__)
USAGE = {
    "turn": "",
    "session": "The tokens that it tells count the whole session; Bough takes the difference.",
    "call": "The tokens that it tells are those of the last call to its model, not of the turn.",
    "none": "It tells no tokens.",
}


def entries() -> list[Entry]:
    """The agents that are described, without those that come with Bough."""
    # A folder that is not there, with a name that stands for any.
    return [entry for entry in load_catalog(Path("{data}")).entries() if entry.package is not None]


def agents_table() -> str:
    """Which agents come described, and how to get each."""
    rows = ["| name | agent | package | its key or account |", "|---|---|---|---|"]
    for entry in entries():
        package = f"`{entry.package.npm}` {entry.package.version}" if entry.package is not None else ""
        rows.append(f"| `{entry.name}` | {entry.title}. {entry.description} | {package} | {entry.login.how} |")
    return "\n".join(rows)


def modes_table() -> str:
    """Eight modes times agents, and what is to be known about a cell below."""
    known = entries()
    rows = [f"| | {' | '.join(entry.title for entry in known)} |", "|---" * (len(known) + 1) + "|"]
    rows += [f"| **`{name}`** | {' | '.join(_cell(entry, name) for entry in known)} |" for name in BY_RANK]
    rows.append("")
    for entry in known:
        rows.append(f"**{entry.title}**\n")
        rows += [f"- `{name}`: {note}" for name in BY_RANK if (note := entry.mode(name).note)]
        rows.append("")
    return "\n".join(rows).rstrip()


def _cell(entry: Entry, name: Any) -> str:
    mode = entry.mode(name)
    own = mode.mode.rpartition("#")[2]
    return f"`{own}`" + (f", start `{mode.start}`" if mode.start else "")


def starts_table() -> str:
    """How each agent is started, and what Bough sets for it."""
    rows = ["| agent | command | always set | start | set for it |", "|---|---|---|---|---|"]
    for entry in entries():
        command = f"`{' '.join(_plain(part) for part in entry.command)}`"
        always = _codes(f"{name}={_plain(value)}" for name, value in entry.env.items())
        for at, (name, start) in enumerate((entry.start or {"": Start()}).items()):
            home = _home(entry.home) if entry.home is not None else ()
            said = "; ".join([*_set_for(start), *home, *_pinned(entry)])
            first = (f"`{entry.name}`", command, always) if at == 0 else ("", "", "")
            rows.append(f"| {' | '.join(first)} | {f'`{name}`' if name else ''} | {said or 'nothing'} |")
    return "\n".join(rows)


def _set_for(start: Start) -> Iterator[str]:
    if start.env:
        yield _codes(f"{name}={_plain(value)}" for name, value in start.env.items())
    for name, table in start.json_env.items():
        yield f"in `{name}` {_codes(_keys(table))}"
    if start.args:
        yield f"arguments `{' '.join(start.args)}`"
    if start.meta:
        yield f"`_meta` of the session `{json.dumps(start.meta)}`"


def _home(home: Home) -> Iterator[str]:
    if home.variable:
        yield f"`{home.variable}` is a folder of Bough's own"
    for name, table in home.merge.items():
        left = f", without the user's {_codes(home.drop[name])}" if home.drop.get(name) else ""
        yield f"there {_codes(_keys(table))} in a copy of `{home.user}/{name}`{left}"
    if home.link:
        yield f"linked from `{home.user}`: {_codes(home.link)}"
    made = [*home.files, *home.programs]
    if made:
        yield f"files of Bough's own: {_codes(made)}"


def _pinned(entry: Entry) -> Iterator[str]:
    if entry.pinned_options:
        options = _codes(f"{name}={value}" for name, value in entry.pinned_options.items())
        yield f"held before each prompt: option {options}"


def repository_table() -> str:
    """What a repository brings that is asked about, keeps an agent from trusting it, or is passed on by Bough."""
    rows = ["| agent | asked about before it starts | makes it start restricted | instructions that Bough passes on |"]
    rows.append("|---|---|---|---|")
    for entry in entries():
        brought = entry.repository
        restricted = _codes(brought.restrict)
        if brought.restrict:
            switched = _codes(f"{name}={value}" for name, value in brought.restrict_env.items())
            restricted += f": started with {switched}. {brought.restrict_note}"
        if brought.restrict_instructions:
            restricted += f" Bough then passes on {_codes(brought.restrict_instructions)}."
        cells = (_codes(brought.ask), restricted, _codes(brought.instructions))
        rows.append(f"| `{entry.name}` | {' | '.join(cell or '–' for cell in cells)} |")
    return "\n".join(rows)


def quirks_list() -> str:
    """What each agent does that others do not."""
    return "\n".join(f"- **{entry.title}**: {' '.join(_quirks(entry)) or 'nothing.'}" for entry in entries())


def _quirks(entry: Entry) -> Iterator[str]:
    quirks, corrections = entry.quirks, entry.corrections
    if not entry.resume:
        yield "It loses conversations with its process: that stays up, and one that died is told the transcript."
    told = {"load": corrections.load, "resume": corrections.resume, "fork": corrections.fork}
    if off := [name for name, value in told.items() if value is False]:
        yield f"It offers {_codes(off)}, which Bough does not use."
    if not corrections.stdio:
        yield "It takes no MCP server that it would have to start itself."
    if quirks.leaves_commands:
        yield "A command that runs when its turn is stopped goes on: Bough ends its process."
    if quirks.start_alone:
        yield "It is started one at a time."
    if quirks.failures or quirks.failure_meta:
        signs = [*quirks.failures, *([quirks.failure_meta] if quirks.failure_meta else [])]
        yield f"A failed turn ends as if all were well, and is known by {_codes(signs)}."
    if signs := [*quirks.unauthenticated, *quirks.unauthorized]:
        yield f"A missing key is known by {_codes(signs)}."
    if quirks.noise:
        yield f"Left out of what it says is {_codes(quirks.noise)}."
    if quirks.fork_elsewhere:
        yield "It can fork a conversation into another folder."
    if USAGE[quirks.usage]:
        yield USAGE[quirks.usage]
    yield from _settings(entry)


def _settings(entry: Entry) -> Iterator[str]:
    if entry.quirks.mode_tools:
        yield f"It asks to change its mode through {_codes(entry.quirks.mode_tools)}."
    if entry.quirks.sandboxed:
        yield "It keeps to its sandbox in every mode, and asks to leave it."
    if entry.effort_option is None:
        yield "It has no setting for effort."


def _keys(table: dict[str, Any], above: str = "") -> Iterator[str]:
    """The settings in a table by their whole names; a table of nothing but tables is told by what is in it."""
    for name, value in table.items():
        inner = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if inner and all(isinstance(one, dict) for one in inner.values()):
            yield from _keys(inner, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text.replace('|', chr(92) + '|')}`" for text in texts)


def _plain(text: str) -> str:
    return text.replace(sys.executable, "{python}")


PARTS = {
    "agents": agents_table,
    "modes": modes_table,
    "starts": starts_table,
    "repository": repository_table,
    "quirks": quirks_list,
}
