"""Holds the checks of `bough doctor`, one function each. A check reports what it found and how to fix a problem; it
changes nothing."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins

from bough import __version__
from bough.agents.catalog import CatalogEntry, load_catalog
from bough.agents.catalog.find_program import is_own
from bough.agents.catalog.login import is_set_up
from bough.agents.catalog.prepare import server_env
from bough.agents.process.inherited_env import HIDDEN_PREFIXES, KEY_ENDINGS, inherited_env
from bough.agents.sandbox.detect import detect
from bough.api.agents import describe
from bough.api.cli.agents.command import agent_state
from bough.api.cli.doctor.keepers import HeldAgent
from bough.api.cli.framework.client import Client, Json, Refused
from bough.api.cli.framework.error_hints import explain
from bough.api.cli.server.db import database_file, without_password
from bough.data_folder_lock import in_use
from bough.errors import BoughError, Invalid
from bough.git.safe import forbid_programs, landlock
from bough.model.agents.sandbox import Sandbox, SandboxProfile
from bough.observe.logging import silent
from bough.requirements import INSTALL_GIT, check_platform, git_version, is_old_git
from bough.settings import Settings, default_data
from bough.storage import migrate
from bough.storage.open import open_backend

OLDEST_PYTHON = (3, 11)
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
    """Runs all checks, each after the ones that it depends on."""
    yield system()
    yield python()
    yield git(_root_of(client) or settings.root_path)
    yield from data_folder(settings.data_path, database_file(settings.database_url))
    yield database(settings)
    yield server(client)
    yield from agents(settings.data_path)
    yield from agent_variables(settings)
    yield sandbox(settings.sandbox, settings.sandbox_profile)
    yield workspace(_root_of(client) or settings.root_path)
    yield space(settings.data_path)


def system() -> Check:
    """Reports the operating system; `bough serve` refuses another one than Linux."""
    name = f"{platform.system()} {platform.release()} on {platform.machine()}"
    try:
        check_platform()
    except Invalid as error:
        return Check("system", "problem", name, error.message)
    return Check("system", "ok", name)


def python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", "problem", f"Python {version} is too old.", "Install Python 3.11 or newer.")
    return Check("python", "ok", f"Python {version}, Bough {__version__}")


def git(root: Path) -> Check:
    """Reports git's version, and what the kernel cannot keep it from in the workspace."""
    version = git_version()
    if version is None:
        return Check("git", "problem", "Cannot run git.", INSTALL_GIT)
    if is_old_git(version):
        return Check("git", "warning", f"{version} is too old.", INSTALL_GIT)
    if reason := forbid_programs.reason_missing():
        text = f"{version}, but the kernel cannot keep it from starting programs: {reason}."
        return Check("git", "warning", text, "Use Linux on x86-64 or ARM64 for code that nobody trusts.")
    if landlock.version() == 0 or not landlock.works_at(str(root)):
        text = f"{version}, but the kernel cannot keep it from writing outside a repository in {root}."
        advice = "For code that nobody trusts, use Linux 5.19 or later with /proc, and a local disk."
        return Check("git", "warning", text, advice)
    return Check("git", "ok", version)


def sandbox(setting: Sandbox, profile: SandboxProfile = "workspace") -> Check:
    """Reports whether agents can be confined on this machine, and whether their network can be."""
    available = detect()
    if setting == "off":
        text = "The sandbox is switched off: agents run unconfined, with all of your rights."
        return Check("sandbox", "warning", text, "Set sandbox = auto in config.toml, or start with --sandbox auto.")
    if available.program is not None:
        text = f"Agents are confined by {available.program} (sandbox = {setting}, sandbox_profile = {profile})"
        if profile == "strict" and available.network_reason:
            severity = "problem" if setting == "required" else "warning"
            return Check("sandbox", severity, f"{text}, but their network is not.", available.network_reason)
        return Check("sandbox", "ok", text)
    if setting == "required":
        return Check("sandbox", "problem", "No agent can start: the sandbox is required.", available.reason)
    return Check("sandbox", "warning", "Agents run unconfined, with all of your rights.", available.reason)


def data_folder(data: Path, file: Path | None) -> Iterator[Check]:
    if not data.exists():
        yield Check("data folder", "ok", f"{data} does not exist yet; bough serve creates it.")
        return
    if not data.is_dir() or not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        yield Check(
            "data folder", "problem", f"Cannot use {data}.", "Fix its permissions, or choose another with --data."
        )
        return
    yield _private("data folder", data, 0o700)
    for name, path in (("token", data / "token"), ("server.json", data / "server.json"), ("database file", file)):
        if path is not None and path.exists():
            yield _private(name, path, 0o600)


def _private(name: str, path: Path, expected_mode: int) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        problem = f"Other users can read {path} (mode {mode:04o})."
        return Check(name, "problem", problem, f"Run: chmod {expected_mode:o} {path}")
    return Check(name, "ok", f"Only you can read {path}")


def database(settings: Settings) -> Check:
    address = without_password(settings.database_url)
    file = database_file(settings.database_url)
    try:
        if file is not None and not file.exists():
            return Check("database", "ok", f"{file} does not exist yet; bough serve creates it.")
        schema = asyncio.run(_status(settings.database_url))
    except (BoughError, OSError) as error:
        return Check("database", "problem", f"{address}: {error}", "Check --database, or restore a copy.")
    if schema.pending:
        text = f"{address} has schema {schema.version}; {len(schema.pending)} migrations are pending."
        return Check("database", "warning", text, "The server applies them when it starts; or run: bough db upgrade")
    return Check("database", "ok", f"{address}, schema {schema.version}")


async def _status(url: str) -> migrate.Status:
    db = await open_backend(url)
    try:
        return await migrate.status(db)
    finally:
        await db.close()


def server(client: Client) -> Check:
    target = client.target
    try:
        health: dict[str, Any] = client.get("/api/health").value
        client.get("/api/repos", limit=1)
    except Refused as error:
        return Check("server", "problem", f"{explain(error)} ({error.code})", "Check the token and the server's log.")
    except BoughError as error:
        if target.address is None and not in_use(target.folder):
            return Check("server", "warning", "No server is running.", "Start one: bough serve")
        return Check("server", "problem", error.message, "Check its log, or restart it.")
    if health["version"] != __version__:
        text = f"The server is Bough {health['version']}, this is {__version__}."
        return Check("server", "warning", text, "Restart the server.")
    return Check("server", "ok", f"Bough {health['version']} answers at {target.find()[0]}")


def agents(data: Path) -> Iterator[Check]:
    with silent():
        catalog = load_catalog(data)
    for agent in catalog.broken:
        yield Check(
            "agent file",
            "problem",
            agent.error,
            "Fix or remove that file; docs/reference/agent-files.md describes its format.",
        )
    known: list[Json] = [to_builtins(agent) for agent in describe(catalog) if agent.error is None]
    states: dict[str, list[str]] = {}
    for agent in known:
        if agent["how"] != "missing":
            states.setdefault(agent_state(agent), []).append(agent["name"])
    summary = "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items())
    own = {entry.name for entry in catalog.entries() if entry.comes_with_bough}
    others = [agent for agent in known if agent["name"] not in own]
    if any(agent_state(agent) in ("ready", "through npx") for agent in others):
        yield Check("agents", "ok", summary)
        return
    hints = [f"{agent['title']}: {agent['login']['how']}" for agent in others if agent["installed"]]
    if not hints:
        names = ", ".join(agent["name"] for agent in others if agent["pinned"])
        hints.append(f"Install one: bough agents install NAME, where NAME is one of {names}.")
    own_agent = f'describe any ACP agent: title = "…" and command = ["…"] in {data}/agents/NAME.toml'
    fix = " ".join([*hints, f"Or {own_agent} (docs/how-to/add-an-agent.md)."])
    yield Check("agents", "warning", f"{summary}. Only Bough's own agents can run.", fix)


def agent_variables(settings: Settings) -> Iterator[Check]:
    """Names the variables of this shell that the login of an agent would need but that agents do not inherit."""
    added = settings.agent_env_names
    with silent():
        catalog = load_catalog(settings.data_path)
    complete = True
    for entry in catalog.entries():
        if is_own(entry) or catalog.find(entry) is None:
            continue
        left_out = sorted(_login_variables(entry) - server_env(entry, added).keys())
        hidden = [name for name in left_out if name in entry.hide]
        addable = [name for name in left_out if name not in hidden]
        if addable:
            fix = f'If it needs them, add them in config.toml: agent_env = "{",".join([*added, *addable])}"'
            yield Check("agent variables", "warning", f"{entry.title} does not inherit {', '.join(addable)}.", fix)
        if hidden:
            text = f"{entry.title} does not get {', '.join(hidden)}, which its file hides."
            yield Check("agent variables", "warning", text, f"Remove it from `hide` in {entry.origin}.")
        complete = complete and not left_out
    if complete:
        text = f"Agents inherit {len(inherited_env(os.environ, added))} of the {len(os.environ)} variables here"
        yield Check("agent variables", "ok", f"{text}, besides those that their files name")


def _login_variables(entry: CatalogEntry) -> set[str]:
    """Returns the variables of this shell that a login needs, or may need if the agent's file does not say which."""
    names = {name for name in entry.login.env if os.environ.get(name)}
    if not entry.login.env and not is_set_up(entry):
        names |= {name for name in os.environ if name.endswith(KEY_ENDINGS) and not name.startswith(HIDDEN_PREFIXES)}
    return names


def agents_at_work(held: list[HeldAgent], data: Path) -> Iterator[Check]:
    """Reports the keepers of this folder: the running server's own, or those left behind by a stopped one."""
    if not held:
        yield Check("keepers", "ok", "No agent is running")
    for agent in held:
        if not agent.alive:
            text = f"The keeper of {agent.describe()} is dead."
            fix = "The next server ends what is left when it starts; or run: {clean}"
        elif in_use(data):
            yield Check("keeper", "ok", f"Keeper {agent.keeper_pid} holds {agent.describe()}")
            continue
        else:
            text = f"Keeper {agent.keeper_pid} holds {agent.describe()}, but no server is running."
            fix = "A new server takes it over: {serve}. To end it: {clean}"
        option = "" if data == Path(default_data()) else f" --data {data}"
        yield Check(
            "keeper", "warning", text, fix.format(clean=f"bough doctor --clean{option}", serve=f"bough serve{option}")
        )


def _root_of(client: Client) -> Path | None:
    """Returns the running server's workspace root, which overrides the one of this shell."""
    try:
        rows: list[dict[str, Any]] = client.get("/api/settings").value["settings"]
    except BoughError:
        return None
    values = {row["name"]: str(row["value"]) for row in rows}
    return Path(values.get("workspace_root") or "~").expanduser()


def workspace(root: Path) -> Check:
    if not root.is_dir():
        problem = f"The workspace root {root} is not a folder."
        return Check("workspace root", "problem", problem, "Create it, or choose another with --workspace-root.")
    if not os.access(root, os.R_OK | os.X_OK):
        return Check(
            "workspace root",
            "problem",
            f"Cannot read {root}.",
            "Fix its permissions, or choose another with --workspace-root.",
        )
    return Check("workspace root", "ok", str(root))


def space(data: Path) -> Check:
    existing = next(folder for folder in (data, *data.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    text = f"{free / GIB:.1f} GiB free at {existing}"
    if free < NO_SPACE:
        return Check("disk space", "problem", text, "Free some space; Bough will soon be unable to store anything.")
    if free < LITTLE_SPACE:
        return Check("disk space", "warning", text, "Free some space.")
    return Check("disk space", "ok", text)
