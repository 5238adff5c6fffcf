"""Getting an agent: its npm package, in the version that Bough was measured with, put into the data folder by the
system's npm. Finding it there afterwards is `catalog.finding`."""

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
from bough.agents.catalog.find import bin_name, is_own, npm_folder
from bough.agents.catalog.prepare import HIDDEN_PREFIXES
from bough.errors import AgentFailed, Invalid

OLDEST_NODE = (20,)
"""No agent that comes as a package runs on an older Node.js."""
INSTALL_WITHIN = 900.0
"""Seconds for one package: a minute is usual, a slow network needs longer."""
ASK_WITHIN = 20.0
"""Seconds for node to tell its version."""
LONGEST_COMPLAINT = 2000
GET_NODE = "Install Node.js 22 or newer, which brings npm, and try again."


class Installed(msgspec.Struct, rename="camel"):
    """An agent that is there now."""

    name: str
    version: str
    folder: str
    # Whether it was there already.
    already: bool
    # What it still needs, if anything.
    warning: str = ""


def package_of(entry: CatalogEntry) -> Package:
    """The package of an agent; Invalid if it does not come as one."""
    if entry.package is None:
        said = "comes with Bough." if is_own(entry) else f"does not come as an npm package. {entry.install}".rstrip()
        raise Invalid("no_package", f"{entry.title} {said}", agent=entry.name)
    return entry.package


def install(entry: CatalogEntry, data: Path) -> Installed:
    """Installs the package of an agent, unless it is there in its version. Whoever looks meanwhile sees all of the old
    one or all of the new one."""
    package = package_of(entry)
    npm, node = _tools(entry)
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = npm_folder(data, entry)
    folder.parent.mkdir(exist_ok=True)
    with _alone(folder):
        already = _is_there(folder, entry, package)
        if not already:
            _fetch(folder, entry, package, npm)
    warning = _outdated(entry, folder, package, node)
    return Installed(entry.name, package.version, str(folder), already, warning)


def _tools(entry: CatalogEntry) -> tuple[str, tuple[int, ...]]:
    """npm, and the version of the node that runs it."""
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
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir()
    try:
        _run_npm(npm, new, entry, package)
        if not _is_there(new, entry, package):
            said = f"npm has installed {package.pinned}, but it has no program {bin_name(entry, package)!r}."
            raise AgentFailed("install_failed", said, agent=entry.name)
        with contextlib.suppress(FileNotFoundError):
            folder.rename(old)
        new.rename(folder)
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


def _run_npm(npm: str, folder: Path, entry: CatalogEntry, package: Package) -> None:
    quiet = ("--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier", "--no-package-lock")
    env = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN_PREFIXES)}
    process = subprocess.Popen(
        [npm, "install", *quiet, "--prefix", str(folder), package.pinned],
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
            said, _ = process.communicate(timeout=INSTALL_WITHIN)
        except BaseException as error:
            # A person who stops us stops npm and what it has started, too.
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            late = f"npm took more than {INSTALL_WITHIN:g} s to install {entry.name}."
            raise AgentFailed("install_failed", late, agent=entry.name) from error
    if process.returncode != 0:
        why = said.strip()[-LONGEST_COMPLAINT:] or f"it ended with code {process.returncode}"
        raise AgentFailed("install_failed", f"npm could not install {package.pinned}: {why}", agent=entry.name)


def _is_there(folder: Path, entry: CatalogEntry, package: Package) -> bool:
    program = folder / "node_modules" / ".bin" / bin_name(entry, package)
    about = _read(folder, package, _Version)
    return about is not None and about.version == package.version and os.access(program, os.X_OK)


def _outdated(entry: CatalogEntry, folder: Path, package: Package, node: tuple[int, ...]) -> str:
    """What to know if the package says that it wants a newer node than there is."""
    about = _read(folder, package, _Needs)
    least = re.fullmatch(r">=\s*v?([\d.]+)", about.engines.get("node", "")) if about is not None else None
    if least is None or node >= _numbers(least[1]):
        return ""
    here = ".".join(map(str, node))
    return f"{entry.title} asks for Node.js {least[1]} or newer; this is {here}, with which it may not start."


class _Version(msgspec.Struct):
    version: str


class _Needs(msgspec.Struct):
    engines: dict[str, str] = {}


_About = TypeVar("_About")


def _read(folder: Path, package: Package, kind: type[_About]) -> _About | None:
    """What the package says about itself, if it says that."""
    try:
        return msgspec.json.decode((folder / "node_modules" / package.npm / "package.json").read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None


def _numbers(version: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


@contextlib.contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One install of an agent at a time; a second one waits and finds it there."""
    handle = os.open(folder.with_name(f".{folder.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
