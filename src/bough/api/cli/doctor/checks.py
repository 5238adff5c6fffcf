"""What `bough doctor` looks at, one function each: what is so, and what to do if it should not be. Nothing is changed
or made by looking."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins

from bough import __version__
from bough.agents.catalog import load_catalog
from bough.api.agents import describe
from bough.api.cli.agents.command import standing
from bough.api.cli.commands.db import database_file, shown
from bough.api.cli.doctor.keepers import Held
from bough.api.cli.framework.client import Client, Json, Refused
from bough.api.cli.framework.error_hints import told
from bough.datafolder import in_use
from bough.errors import BoughError
from bough.observe.logging import silent
from bough.settings import Settings, default_data
from bough.storage import migrate
from bough.storage.open import open_backend

OLDEST_PYTHON = (3, 11)
# Worktrees of git behave from this version on.
OLDEST_GIT = (2, 36)
GIT_WITHIN = 10.0
GIB = 1 << 30
LITTLE_SPACE, NO_SPACE = 2 * GIB, GIB // 5


@dataclass
class Check:
    """One line of the report."""

    name: str
    state: Literal["ok", "warning", "problem"]
    text: str
    fix: str = ""


def everything(settings: Settings, client: Client) -> Iterator[Check]:
    """All checks, in the order in which one builds on the other."""
    yield python()
    yield git()
    yield from data_folder(settings.data_path, database_file(settings.database_url))
    yield database(settings)
    yield server(client)
    yield from agents(settings.data_path)
    yield workspace(_root_of(client) or settings.root_path)
    yield space(settings.data_path)


def python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", "problem", f"Python {version} is too old.", "Install Python 3.11 or newer.")
    return Check("python", "ok", f"Python {version}, Bough {__version__}")


def git() -> Check:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=GIT_WITHIN, check=True)
    except (OSError, subprocess.SubprocessError):
        return Check("git", "problem", "git cannot be run.", "Install git; sessions in repositories need it.")
    said = done.stdout.strip()
    numbers = tuple(int(part) for part in said.removeprefix("git version ").split(".")[:2] if part.isdigit())
    if numbers < OLDEST_GIT:
        return Check("git", "warning", f"{said} is old.", "Install git 2.36 or newer.")
    return Check("git", "ok", said)


def data_folder(data: Path, file: Path | None) -> Iterator[Check]:
    if not data.exists():
        yield Check("data folder", "ok", f"{data} is not there yet; bough serve makes it.")
        return
    if not data.is_dir() or not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        yield Check(
            "data folder", "problem", f"{data} cannot be used.", "Choose another with --data, or mend its rights."
        )
        return
    yield _private("data folder", data, 0o700)
    for name, path in (("token", data / "token"), ("server.json", data / "server.json"), ("database file", file)):
        if path is not None and path.exists():
            yield _private(name, path, 0o600)


def _private(name: str, path: Path, wanted: int) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        said = f"{path} is open to others (mode {mode:04o})."
        return Check(name, "problem", said, f"Run: chmod {wanted:o} {path}")
    return Check(name, "ok", f"{path} is for you alone")


def database(settings: Settings) -> Check:
    address = shown(settings.database_url)
    file = database_file(settings.database_url)
    try:
        if file is not None and not file.exists():
            return Check("database", "ok", f"{file} is not there yet; bough serve makes it.")
        found = asyncio.run(_status(settings.database_url))
    except (BoughError, OSError) as error:
        return Check("database", "problem", f"{address}: {error}", "Check --database, or restore a copy.")
    if found.pending:
        said = f"{address} has schema {found.version}; {len(found.pending)} migrations are pending."
        return Check("database", "warning", said, "They are applied when the server starts, or by: bough db upgrade")
    return Check("database", "ok", f"{address}, schema {found.version}")


async def _status(url: str) -> migrate.Status:
    db = await open_backend(url)
    try:
        return await migrate.status(db)
    finally:
        await db.close()


def server(client: Client) -> Check:
    place = client.place
    try:
        found: dict[str, Any] = client.get("/api/health").value
        client.get("/api/repos", limit=1)
    except Refused as error:
        return Check("server", "problem", f"{told(error)} ({error.code})", "Check the token and the server's log.")
    except BoughError as error:
        if place.address is None and not in_use(place.folder):
            return Check("server", "warning", "No server runs.", "Start one with: bough serve")
        return Check("server", "problem", error.message, "Look at its log, or stop it and start it again.")
    if found["version"] != __version__:
        said = f"The server is Bough {found['version']}, this is {__version__}."
        return Check("server", "warning", said, "Stop it and start it again.")
    return Check("server", "ok", f"Bough {found['version']} answers at {place.find()[0]}")


def agents(data: Path) -> Iterator[Check]:
    with silent():
        catalog = load_catalog(data)
    for one in catalog.broken:
        yield Check(
            "agent file",
            "problem",
            one.error,
            "Fix or remove the file; docs/reference/agent-files.md lists its fields.",
        )
    known: list[Json] = [to_builtins(one) for one in describe(catalog) if one.error is None]
    states: dict[str, list[str]] = {}
    for one in known:
        if one["how"] != "missing":
            states.setdefault(standing(one), []).append(one["name"])
    said = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
    others = [one for one in known if one["name"] not in ("demo", "terminal")]
    if any(standing(one) in ("ready", "through npx") for one in others):
        yield Check("agents", "ok", said)
        return
    hints = [f"{one['title']}: {one['login']['how']}" for one in others if one["installed"]]
    if not hints:
        names = ", ".join(one["name"] for one in others if one["pinned"])
        hints.append(f"Get one with: bough agents install NAME, where NAME is one of {names}.")
    mine = f'describe one that speaks ACP: title = "…" and command = ["…"] in {data}/agents/NAME.toml'
    fix = " ".join([*hints, f"Or {mine} (docs/how-to/add-an-agent.md)."])
    yield Check("agents", "warning", f"{said}. Only those that come with Bough can work.", fix)


def agents_at_work(held: list[Held], data: Path) -> Iterator[Check]:
    """The keepers of this folder: a server's own, or left behind by one that stopped or died."""
    if not held:
        yield Check("keepers", "ok", "No agent is at work")
    for one in held:
        if not one.alive:
            said, fix = f"The keeper of {one.said()} is dead.", "They are ended when a server starts, or by: {clean}"
        elif in_use(data):
            yield Check("keeper", "ok", f"Keeper {one.keeper_pid} holds {one.said()}")
            continue
        else:
            said = f"Keeper {one.keeper_pid} holds {one.said()}, and no server runs."
            fix = "A server that starts takes it up: {serve}. To end it: {clean}"
        where = "" if data == Path(default_data()) else f" --data {data}"
        yield Check(
            "keeper", "warning", said, fix.format(clean=f"bough doctor --clean{where}", serve=f"bough serve{where}")
        )


def _root_of(client: Client) -> Path | None:
    """The root that the running server was given, which counts more than what this shell would give it."""
    try:
        found: list[dict[str, Any]] = client.get("/api/settings").value["settings"]
    except BoughError:
        return None
    values = {one["name"]: str(one["value"]) for one in found}
    return Path(values.get("workspace_root") or "~").expanduser()


def workspace(root: Path) -> Check:
    if not root.is_dir():
        said = f"The workspace root {root} is not a folder."
        return Check("workspace root", "problem", said, "Make it, or choose another with --workspace-root.")
    if not os.access(root, os.R_OK | os.X_OK):
        return Check("workspace root", "problem", f"{root} cannot be read.", "Mend its rights, or choose another.")
    return Check("workspace root", "ok", str(root))


def space(data: Path) -> Check:
    there = next(place for place in (data, *data.parents) if place.exists())
    free = shutil.disk_usage(there).free
    said = f"{free / GIB:.1f} GiB free at {there}"
    if free < NO_SPACE:
        return Check("disk space", "problem", said, "Make room: nothing can be stored soon.")
    if free < LITTLE_SPACE:
        return Check("disk space", "warning", said, "Make room.")
    return Check("disk space", "ok", said)
