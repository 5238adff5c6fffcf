"""Installs and runs the published conformance suite of the Model Context Protocol, at the measured version, below
`.cache`: `python -m tests.conformance.suite`."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.support.real_agents.packages import CACHE, node_program, npm_command

NPM, VERSION = "@modelcontextprotocol/conformance", "0.2.0-alpha.12"
FOLDER = CACHE / "conformance"
MODULE = FOLDER / "node_modules" / NPM
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""The revisions for which this version of the suite has server scenarios."""
INSTALL_TIMEOUT = 300.0
RUN_TIMEOUT = 150.0
"""Seconds for all scenarios of a revision, which usually take ten."""

_RESULT = re.compile(r"server-(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z")


class Check(msgspec.Struct):
    """One check of a scenario."""

    id: str
    status: str
    errorMessage: str | None = None

    @property
    def failed(self) -> bool:
        return self.status == "FAILURE"


class _Manifest(msgspec.Struct):
    version: str


def installed() -> bool:
    """Tells whether the suite is installed in the pinned version."""
    try:
        manifest = (MODULE / "package.json").read_bytes()
    except FileNotFoundError:
        return False
    return msgspec.json.decode(manifest, type=_Manifest).version == VERSION


def install() -> None:
    node, npm = node_program(), npm_command()
    if node is None or npm is None:
        sys.exit("The conformance suite needs npm: `make setup` installs it.")
    print(f"Installing {NPM} {VERSION} …", flush=True)
    quiet = ("--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier", "--no-package-lock")
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [*npm, "install", *quiet, "--prefix", FOLDER, f"{NPM}@{VERSION}"],
        env=os.environ | {"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=INSTALL_TIMEOUT,
    )


async def run(url: str, revision: str, folder: Path) -> dict[str, list[Check]]:
    """Runs all scenarios of a revision against a server and returns each with its checks."""
    node = node_program()
    assert node is not None
    process = await asyncio.create_subprocess_exec(
        *(node, MODULE / "dist/index.js", "server", "--url", url, "--suite", "all"),
        *("--spec-version", revision, "--output-dir", folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(RUN_TIMEOUT):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    checks = _results(folder)
    assert checks, output.decode()[-2000:]
    return checks


def _results(folder: Path) -> dict[str, list[Check]]:
    checks: dict[str, list[Check]] = {}
    for path in folder.glob("*/checks.json"):
        name = _RESULT.fullmatch(path.parent.name)
        assert name is not None, path
        checks[name[1]] = msgspec.json.decode(path.read_bytes(), type=list[Check])
    return checks


if __name__ == "__main__" and not installed():
    install()
