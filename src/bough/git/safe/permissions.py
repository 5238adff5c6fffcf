"""Holds what people allowed git to run in each repository. Empty unless a person said so; `core` fills it from rows."""

from __future__ import annotations

import os

import msgspec

from bough.git.safe.location import Location, find


class AllowedPrograms(msgspec.Struct, frozen=True, rename="camel"):
    """The programs that git may run in one repository.

    - `hooks`: the repository's hooks, when a worktree is created, files are committed or a race is merged.
    - `programs`: the filters and merge drivers as they were when the person allowed them, by the name of the setting.
    - `submodules`: check out submodules in new worktrees.
    - `fetch`: get missing objects and submodules over the network."""

    hooks: bool = False
    programs: dict[str, str] = {}
    submodules: bool = False
    fetch: bool = False


NOTHING = AllowedPrograms()

_allowed: dict[str, AllowedPrograms] = {}
_bare: set[str] = set()


def allow(common: str, permissions: AllowedPrograms) -> None:
    """Sets what git may run in the repository with this common folder."""
    if permissions == NOTHING:
        _allowed.pop(common, None)
    else:
        _allowed[common] = permissions


def allowed(location: Location | None) -> AllowedPrograms:
    return _allowed.get(location.common, NOTHING) if location is not None else NOTHING


def nobody_allowed() -> bool:
    """Tells whether nothing is allowed anywhere, which saves looking for a folder's repository."""
    return not _allowed


def register_bare(path: str) -> None:
    """Lets git use this folder as a bare repository. Any other folder that merely looks like one is not used."""
    _bare.add(os.path.realpath(path))


def forget(path: str) -> None:
    """Withdraws everything said about a repository."""
    _bare.discard(os.path.realpath(path))
    _allowed.pop(os.path.realpath(path), None)
    _allowed.pop(os.path.realpath(os.path.join(path, ".git")), None)
    # The `.git` of a linked worktree or of a submodule is a file.
    location = find(path)
    if location is not None:
        _allowed.pop(location.common, None)


def is_registered_bare(path: str) -> bool:
    return bool(_bare) and os.path.realpath(path) in _bare
