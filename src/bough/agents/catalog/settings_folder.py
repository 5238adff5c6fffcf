"""Makes a settings folder for an agent whose rights can be set only by files.

It holds the user's settings with Bough's merged over them, and links to the user's login. The catalog lists the files.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import stat
import threading
import tomllib
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import tomli_w

from bough.agents.catalog.entry import SettingsFolder
from bough.errors import Invalid

_updating = threading.Lock()


def make_home(home: SettingsFolder, folder: Path, env: Mapping[str, str]) -> Path:
    """Creates or refreshes the folder. Safe while agents use it, since files are replaced atomically."""
    user = user_folder(home, env)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, table in home.merge.items():
        _write(folder / name, _encode(name, _merge(_read(user / name), table, home.drop.get(name, []))))
    for name in home.link:
        _link(folder / name, user / name)
    for name in home.copy:
        if (user / name).exists() or os.path.lexists(folder / name):
            _write(folder / name, _text(user / name))
    for name, text in home.files.items():
        _write(folder / name, text)
    for name, command in home.programs.items():
        _write(folder / name, f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', mode=0o700)
    return folder


def user_folder(home: SettingsFolder, env: Mapping[str, str]) -> Path:
    """Returns the user's own folder, as the agent would find it."""
    return Path(env.get(home.variable) or _expanded(home.user, env))


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merges two tables recursively. Values of `above` win and come last, because agents read rules in order."""
    result = {name: value for name, value in below.items() if name not in above}
    for name, value in above.items():
        lower = below.get(name)
        if isinstance(value, dict) and isinstance(lower, dict):
            value = merged(cast("dict[str, Any]", lower), cast("dict[str, Any]", value))
        result[name] = value
    return result


def _expanded(path: str, env: Mapping[str, str]) -> str:
    """Expands `~` as the agent would."""
    if path.startswith("~/") and env.get("HOME"):
        return os.path.join(env["HOME"], path[2:])
    return os.path.expanduser(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Invalid("bad_agent_settings", f"{path} cannot be read: {error.strerror}.") from error
    try:
        if path.suffix == ".toml":
            return tomllib.loads(data.decode())
        return msgspec.json.decode(data, type=dict[str, Any])
    except (ValueError, RecursionError) as error:  # Errors of text, TOML, JSON and too long numbers are ValueErrors.
        raise Invalid("bad_agent_settings", f"{path} cannot be read: {error}.") from error


def _merge(settings: dict[str, Any], table: dict[str, Any], drop: list[str]) -> dict[str, Any]:
    return merged({name: value for name, value in settings.items() if name not in drop}, table)


def _encode(name: str, table: dict[str, Any]) -> str:
    return tomli_w.dumps(table) if name.endswith(".toml") else msgspec.json.encode(table).decode()


def _link(path: Path, target: Path) -> None:
    """Links to the user's file if it exists. Never replaces a file that the agent created itself, such as a login. A
    folder gives way to the user's, since an agent could have put its own instructions there for later sessions."""
    if path.is_dir() and not path.is_symlink() and target.is_dir():
        old = _temporary_path(path)
        path.rename(old)
        shutil.rmtree(old, ignore_errors=True)
    if path.exists() and not path.is_symlink():
        return
    if not target.exists():
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    elif not path.is_symlink() or os.readlink(path) != str(target):
        temporary = _temporary_path(path)
        temporary.symlink_to(target)
        temporary.replace(path)


def _text(path: Path) -> str:
    """Returns a user's file; nothing if it cannot be read."""
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def _write(path: Path, text: str, mode: int = 0o600) -> None:
    data = text.encode("utf-8", "surrogateescape")
    with _updating:
        if _is_updated(path, data, mode):
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_path(path)
    temporary.write_bytes(data)
    temporary.chmod(mode)
    temporary.replace(path)


def _is_updated(path: Path, data: bytes, mode: int) -> bool:
    """Gives an existing file its content in place. A file that is replaced would become writable in running sandboxes,
    which keep it read-only by a mount. One write, with empty lines over the rest of a longer content, so that nobody
    reads a part of it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1 or stat.S_IMODE(about.st_mode) != mode:
            return False
        padded = data.ljust(about.st_size, b"\n")
        if os.pread(file, len(padded) + 1, 0) != padded:
            os.pwrite(file, padded, 0)
        return os.pread(file, len(padded) + 1, 0) == padded
    except OSError:
        return False
    finally:
        os.close(file)


def _temporary_path(path: Path) -> Path:
    """Returns a unique path beside a file, since another process may write the same file."""
    return path.with_name(f"{path.name}.{uuid.uuid4().hex}.new")
