"""What an agent is started with for one session: its command, its environment, and what it is told when the session is
opened, so that it has the rights of its mode and not those that a repository would grant. Starting it is up to the
launcher."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from bough.agents.catalog.entry import CatalogEntry, ModeSettings, StartSettings
from bough.agents.catalog.find import LocatedAgent, startable
from bough.agents.catalog.repository_files import find_files, read_instructions
from bough.agents.catalog.settings_folder import make_home, merged, user_folder
from bough.errors import Invalid

# What of our own environment an agent must not see: our settings hold paths and addresses, and tokens are nobody's.
HIDDEN_PREFIXES = ("BOUGH_", "AGENT_")


class PreparedStart(msgspec.Struct, frozen=True):
    """All that one start needs."""

    command: list[str]
    env: dict[str, str]
    meta: dict[str, Any]
    # Instructions of the repository that the agent is kept from reading itself.
    instructions: str
    # Whether it is downloaded first, which takes its time.
    fetched: bool
    # What people should know about this start.
    notices: list[str]


def prepare(entry: CatalogEntry, data: Path, cwd: str, mode: ModeSettings, own: dict[str, str]) -> PreparedStart:
    """Prepares a start in a folder, in a mode, with the session's own variables. It reads and writes files."""
    found = startable(entry, data)
    start = _start(entry, mode)
    env = {name: value for name, value in os.environ.items() if not _is_hidden(entry, name)}
    own = {name: value for name, value in own.items() if name not in entry.hide}
    places = {"{cwd}": cwd}
    if entry.home is not None:
        home = make_home(entry.home, data / "homes" / _home_name(entry, env, env | own), env | own)
        places["{home}"] = str(home)
    env |= _filled(entry.env, places) | own
    # From here on it is about rights: nothing of the session's own goes over it.
    if entry.home is not None and entry.home.variable:
        env[entry.home.variable] = places["{home}"]
        if places["{home}"].startswith(tempfile.gettempdir() + os.sep):
            # Some agents trust nothing below the folder for temporary files.
            env["TMPDIR"] = str(_made(data / "tmp"))
    env |= _filled(start.env, places)
    for name, table in start.json_env.items():
        env[name] = _merged_json(name, env.get(name, ""), _filled(table, places))
    notices = _unmeasured(entry, found)
    told = entry.repository.instructions
    brought = find_files(cwd, entry.repository.restrict, beyond=True)
    if brought:
        env |= _filled(entry.repository.restrict_env, places)
        told = [*told, *entry.repository.restrict_instructions]
        names = ", ".join(os.path.relpath(path, cwd) for path in brought[:5])
        notices.append(f"This repository brings {names} for {entry.title}. {entry.repository.restrict_note}".strip())
    return PreparedStart(
        command=[*found.command, *_filled(start.args, places)],
        env=env,
        meta=_filled(start.meta, places),
        instructions=read_instructions(cwd, told),
        fetched=found.how == "npx",
        notices=notices,
    )


def _home_name(entry: CatalogEntry, ours: Mapping[str, str], env: Mapping[str, str]) -> str:
    """A folder for each folder of a user's that one is made from: sessions may have different ones."""
    assert entry.home is not None
    user = user_folder(entry.home, env)
    if user == user_folder(entry.home, ours):
        return entry.name
    return f"{entry.name}-{hashlib.sha256(str(user).encode()).hexdigest()[:12]}"


def _unmeasured(entry: CatalogEntry, found: LocatedAgent) -> list[str]:
    """What an agent of another version may do has not been tried out."""
    if entry.package is None or found.version in (None, entry.package.version):
        return []
    measured = entry.package.version
    return [
        f"{entry.title} {found.version} is installed; what its settings grant was measured with {measured}. "
        f"`bough agents install {entry.name}` gets that one."
    ]


def _start(entry: CatalogEntry, mode: ModeSettings) -> StartSettings:
    return entry.start[mode.start] if mode.start else entry.start.get("default", StartSettings())


def _is_hidden(entry: CatalogEntry, name: str) -> bool:
    return name.startswith(HIDDEN_PREFIXES) or name in entry.hide


def _merged_json(name: str, text: str, table: dict[str, Any]) -> str:
    """A variable that holds a JSON object: the user's, with ours over it."""
    try:
        known = msgspec.json.decode(text, type=dict[str, Any]) if text.strip() else {}
    except msgspec.DecodeError as error:
        raise Invalid("bad_agent_env", f"The variable {name} does not hold a JSON object: {error}.") from error
    return msgspec.json.encode(merged(known, table)).decode()


def _filled(value: Any, places: Mapping[str, str]) -> Any:
    """A value of the catalog with its marks filled, however deep they are."""
    if isinstance(value, str):
        for mark, text in places.items():
            value = value.replace(mark, text)
        return value
    if isinstance(value, list):
        return [_filled(one, places) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _filled(one, places) for name, one in cast("dict[str, Any]", value).items()}
    return value


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
