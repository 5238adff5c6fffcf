"""Installs an agent's npm package into the data folder, in the version that Bough was tested with."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import msgspec

from bough.agents.catalog.entry import CatalogEntry, Package
from bough.agents.catalog.find_program import bin_name, is_own, npm_folder
from bough.agents.process.inherited_env import HIDDEN_PREFIXES
from bough.errors import AgentFailed, Invalid

OLDEST_NODE = (20,)
"""The oldest Node.js that runs any of the packaged agents."""
INSTALL_WITHIN = 900.0
"""Seconds to install one package. A minute is usual; a slow network needs longer."""
ASK_WITHIN = 20.0
"""Seconds for node to print its version."""
REACH_WITHIN = 12.0
"""Seconds for npm to find a package in its registry. Without network, npm itself would try for minutes."""
UNREACHABLE = frozenset(
    (
        *("EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "ETIMEDOUT"),
        *("ERR_SOCKET_TIMEOUT", "FETCH_ERROR"),
    )
)
"""The codes of npm's errors that mean that its registry cannot be reached."""
CHECK_NETWORK = "check the network, and npm's settings `registry` and `proxy`."
LONGEST_OUTPUT = 2000
GET_NODE = "Install Node.js 22 or newer, which brings npm, and try again."


class Installed(msgspec.Struct, rename="camel"):
    """An installed agent."""

    name: str
    version: str
    folder: str
    # Whether it was installed before.
    already: bool
    # A problem that may keep it from starting, if any.
    warning: str = ""


def package_of(entry: CatalogEntry) -> Package:
    """Returns the npm package of an agent. Raises `Invalid` if it has none."""
    if entry.package is None:
        reason = "comes with Bough." if is_own(entry) else f"does not come as an npm package. {entry.install}".rstrip()
        raise Invalid("no_package", f"{entry.title} {reason}", agent=entry.name)
    return entry.package


def install(entry: CatalogEntry, data: Path) -> Installed:
    """Installs the package of an agent, unless that version is installed already.

    Replaces an old version in one step, so that other processes see either the old or the new one.
    """
    package = package_of(entry)
    npm, node = _tools(entry)
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = npm_folder(data, entry)
    folder.parent.mkdir(exist_ok=True)
    with _install_lock(folder):
        already = _is_installed(folder, entry, package)
        if not already:
            _fetch(folder, entry, package, npm)
    warning = _outdated(entry, folder, package, node)
    return Installed(entry.name, package.version, str(folder), already, warning)


def _tools(entry: CatalogEntry) -> tuple[str, tuple[int, ...]]:
    """Returns the path of npm, and the version of the node that runs it."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        missing = "npm" if npm is None else "node"
        raise Invalid("no_npm", f"{entry.title} is installed by npm, but {missing} was not found. {GET_NODE}")
    try:
        asked = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=ASK_WITHIN, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise Invalid("no_npm", f"{node} cannot be run. {GET_NODE}") from error
    version = _numbers(asked.stdout)
    if version < OLDEST_NODE:
        raise Invalid("old_node", f"{node} is version {asked.stdout.strip()}, which is too old. {GET_NODE}")
    return npm, version


def _fetch(folder: Path, entry: CatalogEntry, package: Package, npm: str) -> None:
    new, old = (folder.with_name(f".{folder.name}.{kind}") for kind in ("new", "old"))
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    new.mkdir()
    try:
        _check_registry(npm, new, entry, package)
        _run_npm(npm, new, entry, package)
        if not _is_installed(new, entry, package):
            problem = f"npm installed {package.pinned}, but it has no program {bin_name(entry, package)!r}."
            raise AgentFailed("install_failed", problem, agent=entry.name)
        with contextlib.suppress(FileNotFoundError):
            folder.rename(old)
        new.rename(folder)
    finally:
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)


def _check_registry(npm: str, folder: Path, entry: CatalogEntry, package: Package) -> None:
    """Raises `AgentFailed` if npm cannot reach its registry. The installation reports any other problem."""
    once = ("--fetch-retries=0", f"--fetch-timeout={int(REACH_WITHIN * 1000)}")
    arguments = ["view", "--loglevel=error", "--no-update-notifier", *once, package.pinned, "version"]
    ended = _npm(npm, arguments, folder, REACH_WITHIN)
    if ended is None:
        reason = f"no answer within {REACH_WITHIN:g} s"
    else:
        code = re.search(r"\bcode ([A-Z_]+)", ended.output)
        if ended.code == 0 or code is None or code[1] not in UNREACHABLE:
            return
        address = re.search(r"https?://[^\s/]+", ended.output)
        reason = f"{code[1]} at {address[0]}" if address is not None else code[1]
    problem = f"{entry.title} was not installed, because npm cannot reach its registry ({reason}): {CHECK_NETWORK}"
    raise AgentFailed("install_failed", problem, agent=entry.name)


def _run_npm(npm: str, folder: Path, entry: CatalogEntry, package: Package) -> None:
    quiet = ("--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier", "--no-package-lock")
    ended = _npm(npm, ["install", *quiet, "--prefix", str(folder), package.pinned], folder, INSTALL_WITHIN)
    if ended is None:
        problem = f"npm took more than {INSTALL_WITHIN:g} s to install {entry.name}."
        raise AgentFailed("install_failed", problem, agent=entry.name)
    if ended.code != 0:
        reason = ended.output.strip()[-LONGEST_OUTPUT:] or f"it ended with code {ended.code}"
        raise AgentFailed("install_failed", f"npm could not install {package.pinned}: {reason}", agent=entry.name)


class _Ended(msgspec.Struct):
    code: int
    output: str


def _npm(npm: str, arguments: list[str], folder: Path, within: float) -> _Ended | None:
    """Runs npm and returns how it ended, or None if it was killed because its time was up."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN_PREFIXES)}
    process = subprocess.Popen(
        [npm, *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=within)
        except BaseException as error:
            # If the user interrupts Bough, npm and everything that it started must end too.
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return None
    return _Ended(process.returncode, output)


def _is_installed(folder: Path, entry: CatalogEntry, package: Package) -> bool:
    program = folder / "node_modules" / ".bin" / bin_name(entry, package)
    about = _read(folder, package, _Version)
    return about is not None and about.version == package.version and os.access(program, os.X_OK)


def _outdated(entry: CatalogEntry, folder: Path, package: Package, node: tuple[int, ...]) -> str:
    """Returns a warning if the package requires a newer node than the installed one."""
    about = _read(folder, package, _Needs)
    minimum = re.fullmatch(r">=\s*v?([\d.]+)", about.engines.get("node", "")) if about is not None else None
    if minimum is None or node >= _numbers(minimum[1]):
        return ""
    installed = ".".join(map(str, node))
    return f"{entry.title} requires Node.js {minimum[1]} or newer. With {installed} it may not start."


class _Version(msgspec.Struct):
    version: str


class _Needs(msgspec.Struct):
    engines: dict[str, str] = {}


_About = TypeVar("_About")


def _read(folder: Path, package: Package, kind: type[_About]) -> _About | None:
    """Reads the installed package's package.json. Returns None if it lacks what is asked for."""
    try:
        return msgspec.json.decode((folder / "node_modules" / package.npm / "package.json").read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None


def _numbers(version: str) -> tuple[int, ...]:
    match = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


@contextlib.contextmanager
def _install_lock(folder: Path) -> Generator[None]:
    """Lets one process at a time install an agent. A second one waits and finds it installed."""
    handle = os.open(folder.with_name(f".{folder.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
