"""Prepares the start of an agent for one session: its command, its environment and the settings of its mode.

The agent gets the rights of its mode, and not those that files in the repository would grant. The launcher starts it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from bough.agents.catalog.entry import CatalogEntry, ModeSettings, StartSettings
from bough.agents.catalog.find_program import LocatedAgent, npm_folder, programs_folder, startable
from bough.agents.catalog.login import key_variables, own_variables
from bough.agents.catalog.repository_files import find_files, read_instructions
from bough.agents.catalog.settings_folder import make_home, merged, user_folder
from bough.agents.process.inherited_env import KEY_ENDINGS, inherited_env
from bough.errors import Invalid

FOLDER_NAME_LENGTH = 200
"""Characters of a folder's name, as agents shorten it."""


class PreparedStart(msgspec.Struct, frozen=True):
    """Everything that one start needs."""

    command: list[str]
    env: dict[str, str]
    meta: dict[str, Any]
    # Instructions in the repository that the agent is kept from reading itself.
    instructions: str
    # Whether it is downloaded first, which takes time.
    fetched: bool
    # Notices for people about this start.
    notices: list[str]
    # The agent's own files: those that it writes, folders in which it writes nothing else, those of which it writes a
    # copy, folders that no other agent sees, parts that it must not write, and those that it only reads.
    state: list[str] = []
    closed_state: list[str] = []
    copied_state: list[str] = []
    private_state: list[str] = []
    protected_state: list[str] = []
    readable: list[str] = []
    # The variables in `env` that hold its keys.
    keys: list[str] = []
    # The version of the agent; empty if it is unknown.
    version: str = ""


def prepare(
    entry: CatalogEntry, data: Path, cwd: str, mode: ModeSettings, own: dict[str, str], added: Sequence[str] = ()
) -> PreparedStart:
    """Prepares a start in a folder and a mode, with the session's own variables, and those of the server's that the
    setting `agent_env` adds. Reads and writes files."""
    located = startable(entry, data)
    start = _start(entry, mode)
    env = server_env(entry, added)
    own = {name: value for name, value in own.items() if name not in entry.hide}
    values = {"{cwd}": cwd}
    if entry.home is not None:
        home = make_home(entry.home, data / "homes" / _home_name(entry, env, env | own), env | own)
        values["{home}"] = str(home)
    env |= _filled(entry.env, values) | own
    # The variables from here on are about rights, so the session's own must not override them.
    if entry.home is not None and entry.home.variable:
        env[entry.home.variable] = values["{home}"]
        if values["{home}"].startswith(tempfile.gettempdir() + os.sep):
            # Some agents distrust everything below the folder for temporary files.
            env["TMPDIR"] = str(_created(data / "tmp"))
    env |= _filled(start.env, values)
    for name, table in start.json_env.items():
        env[name] = _merged_json(name, env.get(name, ""), _filled(table, values))
    notices = _untested_version(entry, located)
    instruction_files = entry.repository.instructions
    restricting = find_files(cwd, entry.repository.restrict, beyond=True)
    if restricting:
        env |= _filled(entry.repository.restrict_env, values)
        instruction_files = [*instruction_files, *entry.repository.restrict_instructions]
        names = ", ".join(os.path.relpath(path, cwd) for path in restricting[:5])
        notices.append(
            f"This repository has settings for {entry.title}: {names}. {entry.repository.restrict_note}".strip()
        )
    places = values | {"{data}": str(data), "{cwd-name}": folder_name(os.path.realpath(cwd))}
    return PreparedStart(
        command=[*located.command, *_filled(start.args, values)],
        env=env,
        meta=_filled(start.meta, values),
        instructions=read_instructions(cwd, instruction_files),
        fetched=located.how != "installed",
        notices=notices,
        state=_expanded(entry.sandbox.write, places, env),
        closed_state=_expanded(entry.sandbox.closed, places, env),
        copied_state=_expanded(entry.sandbox.copy, places, env),
        private_state=_expanded(entry.sandbox.private, places, env),
        protected_state=_expanded(entry.sandbox.protect, places, env),
        readable=[path for path in (values.get("{home}"), *_folders(data, entry)) if path],
        keys=_keys(entry, env, own),
        version=located.version or "",
    )


def conversation_paths(entry: CatalogEntry, own: dict[str, str], data: Path, *, user: bool) -> list[str]:
    """Returns the patterns of the files in which an agent with these variables keeps its conversations: those of the
    user's own settings folder, or those of the folder that Bough's sessions use."""
    env = server_env(entry)
    values = {"{data}": str(data)}
    if entry.home is not None:
        bough_home = data / "homes" / _home_name(entry, env, env | own)
        values["{home}"] = str(user_folder(entry.home, env | own) if user else bough_home)
    return _expanded(entry.conversations.paths, values, env | own)


def terminal_command(
    entry: CatalogEntry, own: dict[str, str], data: Path, conversation_id: str, cwd: str
) -> tuple[list[str], dict[str, str]]:
    """Returns the words and variables with which the agent's own terminal program continues a conversation. Keys and
    other values of the session are not among them."""
    env = server_env(entry)
    values = {"{data}": str(data), "{cwd}": cwd, "{id}": conversation_id}
    if entry.home is not None:
        values["{home}"] = str(data / "homes" / _home_name(entry, env, env | own))
    return _filled(entry.conversations.terminal, values), _filled(entry.conversations.terminal_env, values)


def _folders(data: Path, entry: CatalogEntry) -> list[str]:
    """Returns the folders in the data folder that hold the agent's program."""
    return [str(npm_folder(data, entry)), str(programs_folder(data, entry.name))]


def folder_name(path: str) -> str:
    """Returns the name that Claude Code and agents like it give to a folder's conversations: the path with `-` for all
    but letters and digits, and with a checksum if that is long."""
    encoded = path.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(encoded[at : at + 2], "little") for at in range(0, len(encoded), 2)]
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if len(name) <= FOLDER_NAME_LENGTH:
        return name
    checksum = 0
    for unit in units:
        checksum = (checksum * 31 + unit) & 0xFFFFFFFF
    checksum = abs(checksum - (1 << 32) if checksum >> 31 else checksum)
    digits = ""
    while checksum:
        checksum, digit = divmod(checksum, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return f"{name[:FOLDER_NAME_LENGTH]}-{digits or '0'}"


def server_env(entry: CatalogEntry, added: Sequence[str] = ()) -> dict[str, str]:
    """Returns the server's variables that the agent inherits."""
    return inherited_env(os.environ, (*own_variables(entry), *added), entry.hide)


def _keys(entry: CatalogEntry, env: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """Returns the variables that hold the agent's keys: those that are known to, and those that its file lets it
    inherit and that are named like keys."""
    inherited = inherited_env(os.environ, own_variables(entry))
    keys = {*key_variables(entry), *(name for name in inherited if name.endswith(KEY_ENDINGS) and name not in own)}
    return [name for name in env if name in keys]


def _home_name(entry: CatalogEntry, server_env: Mapping[str, str], env: Mapping[str, str]) -> str:
    """Returns the name of the settings folder: one for each of the user's folders, since sessions may differ in it."""
    assert entry.home is not None
    user = user_folder(entry.home, env)
    if user == user_folder(entry.home, server_env):
        return entry.name
    return f"{entry.name}-{hashlib.sha256(str(user).encode()).hexdigest()[:12]}"


def _untested_version(entry: CatalogEntry, located: LocatedAgent) -> list[str]:
    """Returns a notice if the installed version is not the one that Bough was tested with."""
    if entry.package is None or located.version in (None, entry.package.version):
        return []
    tested = entry.package.version
    return [
        f"{entry.title} {located.version} is installed, but Bough was tested with {tested}. "
        f"Run `bough agents install {entry.name}` to install that version."
    ]


def _start(entry: CatalogEntry, mode: ModeSettings) -> StartSettings:
    return entry.start[mode.start] if mode.start else entry.start.get("default", StartSettings())


def _merged_json(name: str, text: str, table: dict[str, Any]) -> str:
    """Merges a table over a variable that holds a JSON object."""
    try:
        own = msgspec.json.decode(text, type=dict[str, Any]) if text.strip() else {}
    except msgspec.DecodeError as error:
        raise Invalid("bad_agent_env", f"The variable {name} does not hold a JSON object: {error}.") from error
    return msgspec.json.encode(merged(own, table)).decode()


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """Replaces the placeholders in a value of the catalog, at any depth."""
    if isinstance(value, str):
        for placeholder, text in values.items():
            value = value.replace(placeholder, text)
        return value
    if isinstance(value, list):
        return [_filled(item, values) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _filled(item, values) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _expanded(paths: list[str], values: Mapping[str, str], env: Mapping[str, str]) -> list[str]:
    """Expands placeholders, variables and `~` in paths. Leaves out a path with a variable that is not set."""
    home = env.get("HOME") or os.path.expanduser("~")
    expanded: list[str] = []
    for path in paths:
        if path.startswith("$"):
            name, _, rest = path[1:].partition("/")
            if not env.get(name):
                continue
            path = os.path.join(env[name], rest).rstrip("/")
        path = _filled(path, values)
        expanded.append(os.path.join(home, path[2:]) if path.startswith("~/") else path)
    return [path for path in expanded if os.path.isabs(path)]


def _created(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
