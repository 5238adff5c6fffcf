"""Whether an agent is here: as an installed command, in Bough's own folder of npm packages, or to be had through npx;
and in which version. What it is started with is `start`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from bough.agents.catalog.entry import CatalogEntry, Package
from bough.errors import Invalid

How = Literal["installed", "npx"]
# How far above a program its package may describe itself.
HIGHEST_PACKAGE = 6


class LocatedAgent(msgspec.Struct, frozen=True):
    """How an agent can be started here."""

    command: list[str]
    how: How
    program: str
    version: str | None


def npm_folder(data: Path, entry: CatalogEntry) -> Path:
    """Where `bough agents install` puts the package of an agent."""
    return data / "npm" / entry.name


def find(entry: CatalogEntry, data: Path) -> LocatedAgent | None:
    """The command of an agent, with the program as a path; None if there is no way to start it here."""
    program = shutil.which(entry.command[0])
    if program is None and entry.package is not None:
        own = npm_folder(data, entry) / "node_modules" / ".bin"
        program = shutil.which(bin_name(entry, entry.package), path=str(own))
    if program is not None:
        return LocatedAgent([program, *entry.command[1:]], "installed", program, version(entry, program))
    npx = shutil.which("npx") if entry.package is not None else None
    if npx is None or entry.package is None:
        return None
    package = entry.package
    command = [npx, "--yes", "--package", package.pinned, "--", bin_name(entry, package), *entry.command[1:]]
    return LocatedAgent(command, "npx", npx, package.version)


def startable(entry: CatalogEntry, data: Path) -> LocatedAgent:
    """As `find`; Invalid, with the way to get it, if it cannot be started."""
    found = find(entry, data)
    if found is None:
        raise Invalid(
            "agent_missing",
            f"The agent {entry.name} cannot be started: its command {entry.command[0]!r} was not found.{_way(entry)}",
            agent=entry.name,
        )
    return found


def is_set_up(entry: CatalogEntry) -> bool | None:
    """Whether a key or an account for the agent is to be seen; None if one cannot tell from outside."""
    login = entry.login
    if not login.env and not login.files:
        return None
    if any(os.environ.get(name) for name in login.env):
        return True
    return any(os.path.exists(os.path.expanduser(os.path.expandvars(path))) for path in login.files)


def install_hint(entry: CatalogEntry) -> str:
    """How to get it, in a sentence."""
    if entry.install:
        return entry.install
    return f"Get it with: bough agents install {entry.name}" if entry.package is not None else ""


def version(entry: CatalogEntry, program: str) -> str | None:
    """The version of an installed agent, as the package around its program tells it; ours if it comes with Bough."""
    if entry.package is None:
        return own_version() if is_own(entry) else None
    folder = Path(os.path.realpath(program)).parent
    for parent in [folder, *folder.parents][:HIGHEST_PACKAGE]:
        try:
            about: dict[str, Any] = msgspec.json.decode((parent / "package.json").read_bytes())
        except (OSError, msgspec.DecodeError):
            continue
        if about.get("version"):
            return str(about["version"])
    return None


def is_own(entry: CatalogEntry) -> bool:
    """Whether the agent itself comes with Bough, not only what is said about it."""
    return entry.package is None and Path(entry.origin).parent == Path(__file__).parent


def own_version() -> str:
    """The version of the agents that come with Bough."""
    from bough import __version__

    return f"{__version__} (Python {sys.version_info.major}.{sys.version_info.minor})"


def bin_name(entry: CatalogEntry, package: Package) -> str:
    """The program of an agent among those of its package."""
    return package.bin or entry.command[0]


def _way(entry: CatalogEntry) -> str:
    hint = install_hint(entry)
    return f" {hint}" if hint else ""
