"""Finds the mounts for an agent's own files: those that it writes, reads, or has for itself alone. Creates those that
are missing and that a box can only mount if they exist."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

JSON_SUFFIXES = (".json", ".jsonc")
EMPTY_SUFFIXES = (".md", ".env")
"""Endings of files that may be empty."""
FILE_SUFFIXES = (*JSON_SUFFIXES, *EMPTY_SUFFIXES, ".toml", ".yaml", ".yml", ".db", ".sqlite", ".lock")
"""Endings of files in the catalog. Other names are folders, also those with a dot."""
NEVER_CREATED = ("local", ".env")
"""Names that change what the user's own agent does as soon as they exist: it takes the first for an installation of its
own, and with the second looks for no other."""
LOGINS = ("auth.json",)
"""Files that an agent takes for a login as soon as they exist."""


@dataclass(frozen=True)
class OwnFiles:
    """The agent's own files, as its catalog file lists them (`SandboxNeeds`)."""

    write: Sequence[str] = ()
    closed: Sequence[str] = ()
    copy: Sequence[str] = ()
    private: Sequence[str] = ()
    protect: Sequence[str] = ()


NO_FILES = OwnFiles()


@dataclass
class OwnMounts:
    """The mounts for them. All paths are those at which they appear in the box."""

    writable: list[str] = field(default_factory=list[str])
    # Folders that are empty at first.
    private: list[str] = field(default_factory=list[str])
    copied: list[str] = field(default_factory=list[str])
    readable: list[str] = field(default_factory=list[str])
    protected: list[str] = field(default_factory=list[str])
    # The mounts of links in closed folders, and where these lead.
    sources: dict[str, str] = field(default_factory=dict[str, str])


def find_mounts(files: OwnFiles, data: str) -> OwnMounts:
    """Returns the mounts. Creates missing folders and files, in closed folders only the folders that the agent
    writes."""
    _create(files.closed)
    # A folder that is a link is closed where it really is. What is in it appears under its own name.
    closed = {path: os.path.realpath(path) for path in files.closed if os.path.isdir(path)}
    _create(path for path in files.write if not _is_file(path) or _closed_above(path, closed) is None)
    _create(path for path in (*files.copy, *files.private) if _closed_above(path, closed) is None)
    _create_protected([path for path in files.protect if _is_open(path, files.write, closed)], data)
    mounts = OwnMounts()
    mounts.writable += _mounted(files.write, closed, mounts.sources)
    mounts.copied += _mounted(files.copy, closed, {})
    mounts.private += _mounted((path for path in files.private if _is_open(path, files.write, closed)), closed, {})
    mounts.protected += _mounted(
        (path for path in files.protect if _is_open(path, files.write, closed)), closed, mounts.sources
    )
    absent = {_place(path, closed) for path in files.private}
    for folder in dict.fromkeys(closed.values()):
        mounts.private.append(folder)
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if path not in absent and path not in mounts.writable and path not in mounts.copied:
                mounts.readable += _mounted([path], {folder: folder}, mounts.sources)
    return mounts


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Returns whether a path is one of the folders or inside one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _closed_above(path: str, closed: Mapping[str, str]) -> str | None:
    """Returns the innermost closed folder that holds a path."""
    return max((folder for folder in closed if is_below(path, (folder,))), key=len, default=None)


def _is_open(path: str, write: Iterable[str], closed: Mapping[str, str]) -> bool:
    """Returns whether the agent could create a path outside its box: it is in no closed folder, or in a part of one
    that is written."""
    above = _closed_above(path, closed)
    return above is None or any(is_below(folder, (above,)) and is_below(path, (folder,)) for folder in write)


def _place(path: str, closed: Mapping[str, str]) -> str:
    """Returns where a path appears in the box."""
    above = _closed_above(path, closed)
    return os.path.realpath(path) if above is None else closed[above] + path[len(above) :]


def _mounted(paths: Iterable[str], closed: Mapping[str, str], sources: dict[str, str]) -> list[str]:
    """Returns where the paths that exist appear. Adds those to `sources` whose content is elsewhere."""
    mounted: list[str] = []
    for path in paths:
        if not path or not os.path.exists(path):
            continue
        place, real = _place(path, closed), os.path.realpath(path)
        if place != real:
            sources[place] = real
        mounted.append(place)
    return mounted


def _is_file(path: str) -> bool:
    return path.endswith(FILE_SUFFIXES)


def _create(paths: Iterable[str]) -> None:
    """Creates folders and files of the agent's state that do not exist yet, so that the box can open them."""
    for path in paths:
        with contextlib.suppress(OSError):
            if not _is_file(path):
                os.makedirs(path, mode=0o700, exist_ok=True)
            elif path.endswith(JSON_SUFFIXES) and os.path.basename(path) not in LOGINS and not os.path.lexists(path):
                _create_file(path)


def _create_protected(paths: Iterable[str], data: str) -> None:
    """Creates what the agent must not write, since it could otherwise create it with its own content."""
    for path in paths:
        folder, name = os.path.split(path)
        if os.path.lexists(path) or not os.path.isdir(folder):
            continue
        ours = is_below(os.path.realpath(folder), (data,))
        if name in NEVER_CREATED and not ours:
            continue
        with contextlib.suppress(OSError):
            if name.endswith((*JSON_SUFFIXES, *EMPTY_SUFFIXES)) or (ours and name.endswith(".toml")):
                _create_file(path)
            elif not os.path.splitext(name)[1]:
                os.mkdir(path, mode=0o700)


def _create_file(path: str) -> None:
    """Creates a settings file that says nothing."""
    with open(path, "x", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
        file.write("{}\n" if path.endswith(JSON_SUFFIXES) else "")
