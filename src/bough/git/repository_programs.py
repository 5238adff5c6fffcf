"""Finds what a repository would run through git if it were allowed to. Runs none of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from bough.git.paths import is_there, read_start
from bough.git.run import GitFailed, git
from bough.git.safe.configured_programs import PROGRAMS
from bough.git.safe.location import Location, find, is_bare
from bough.git.safe.permissions import is_registered_bare

# An attributes file is read only so far.
LONGEST_FILE = 1024 * 1024
_USED = re.compile(r"\b(?:filter|merge)=(\S+)")
# Git's own merge drivers run nothing.
_BUILT_IN = frozenset({"text", "binary", "union"})
_HOOK = re.compile(r"[a-z0-9-]+")


class RepositoryPrograms(msgspec.Struct, frozen=True):
    """A repository's executable hooks, the commands of its filters and merge drivers by setting, the names that its
    attributes use, whether it has submodules, and whether it is a partial clone."""

    hooks: tuple[str, ...] = ()
    programs: dict[str, str] = {}
    used: tuple[str, ...] = ()
    submodules: bool = False
    partial: bool = False


def locate(path: str) -> Location | None:
    """Returns the repository of a registered folder, bare or not."""
    if is_registered_bare(path) and is_bare(path):
        real = os.path.realpath(path)
        return Location(real, real, real)
    return find(path)


async def find_programs(path: str) -> RepositoryPrograms:
    """Returns what the repository at `path` would run."""
    location = locate(path)
    if location is None:
        return RepositoryPrograms()
    settings = await _settings(path, rf"{PROGRAMS}|^core\.hookspath$|^extensions\.partialclone$|\.promisor$")
    hooks_path = settings.pop("core.hookspath", None)
    programs = {name: value for name, value in settings.items() if name.startswith(("filter.", "merge."))}
    return RepositoryPrograms(
        hooks=_hooks(location, hooks_path),
        programs=programs,
        used=_used(location),
        submodules=is_there(location.top, ".gitmodules"),
        partial=len(programs) < len(settings),
    )


async def _settings(path: str, pattern: str) -> dict[str, str]:
    """Returns the settings of all files, without those that Bough gives to git."""
    try:
        text = await git(path, "config", "--show-scope", "-z", "--get-regexp", pattern)
    except GitFailed:
        # Exits with 1 if nothing matches.
        return {}
    words = text.split("\0")[:-1]
    entries = [
        entry.partition("\n") for scope, entry in zip(words[::2], words[1::2], strict=True) if scope != "command"
    ]
    return {name: value for name, _, value in entries}


def _hooks(location: Location, configured: str | None) -> tuple[str, ...]:
    folder = Path(location.common, "hooks")
    if configured:
        folder = Path(location.top, os.path.expanduser(configured))
    try:
        return tuple(sorted(item.name for item in folder.iterdir() if _is_hook(item)))
    except OSError:
        return ()


def _is_hook(path: Path) -> bool:
    return _HOOK.fullmatch(path.name) is not None and path.is_file() and os.access(path, os.X_OK)


def _used(location: Location) -> tuple[str, ...]:
    names: set[str] = set()
    for path in (Path(location.top, ".gitattributes"), Path(location.common, "info", "attributes")):
        content = read_start(str(path), LONGEST_FILE) or b""
        names |= set(_USED.findall(content.decode("utf-8", "replace")))
    return tuple(sorted(names - _BUILT_IN))
