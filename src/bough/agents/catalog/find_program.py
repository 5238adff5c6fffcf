"""Finds an agent's program: an installed command, a package in Bough's data folder, or a package through npx."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from bough.agents.catalog.entry import CatalogEntry, Package
from bough.errors import Invalid

How = Literal["installed", "npx", "uvx"]
# How many folders above a program its package.json may be.
HIGHEST_PACKAGE = 6


class LocatedAgent(msgspec.Struct, frozen=True):
    """The way to start an agent on this machine."""

    command: list[str]
    how: How
    program: str
    version: str | None


def npm_folder(data: Path, entry: CatalogEntry) -> Path:
    """Returns the folder into which `bough agents install` puts an agent's package."""
    return data / "npm" / entry.name


def programs_folder(data: Path, name: str) -> Path:
    """Returns the folder into which a person unpacks the archive of an agent from a registry."""
    return data / "programs" / name


def find(entry: CatalogEntry, data: Path) -> LocatedAgent | None:
    """Returns the command of an agent with the path of its program, or None if it cannot be started here."""
    program = shutil.which(entry.command[0])
    if entry.registry is not None:
        # Its version is pinned in the command, or in the folder of its archive.
        how = "installed" if entry.registry.distribution == "binary" else entry.registry.distribution
        command = [program or "", *entry.command[1:]]
        return LocatedAgent(command, how, program, entry.registry.version) if program is not None else None
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
    """Like `find`, but raises `Invalid` with installation advice if the agent cannot be started."""
    located = find(entry, data)
    if located is None:
        raise Invalid(
            "agent_missing",
            f"The agent {entry.name} cannot be started: its command {entry.command[0]!r} was not found.{hint(entry)}",
            agent=entry.name,
        )
    return located


def install_hint(entry: CatalogEntry) -> str:
    """Returns a sentence on how to install an agent."""
    if entry.install:
        return entry.install
    return f"Install it with: bough agents install {entry.name}" if entry.package is not None else ""


def version(entry: CatalogEntry, program: str) -> str | None:
    """Returns the version of an installed agent from its package.json, or Bough's version for built-in agents."""
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
    """Returns whether the agent itself is part of Bough, not only its catalog file."""
    return entry.package is None and Path(entry.origin).parent == Path(__file__).parent


def own_version() -> str:
    """Returns the version of the agents that are part of Bough."""
    from bough import __version__

    return f"{__version__} (Python {sys.version_info.major}.{sys.version_info.minor})"


def bin_name(entry: CatalogEntry, package: Package) -> str:
    """Returns the name of the agent's program in its package."""
    return package.bin or entry.command[0]


def hint(entry: CatalogEntry) -> str:
    """Returns the advice on installing an agent, as a sentence to append; empty if there is none."""
    advice = install_hint(entry)
    return f" {advice}" if advice else ""
