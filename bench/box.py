"""Measures what the sandbox costs: how much later a confined agent answers, and its work with files and processes."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bench.support import measure
from bench.support.measure import Sample
from bench.support.report import Result, Row, duration
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from bough.agents.link import LinkClosed
from bough.agents.sandbox.box_paths import BoxRequest, box_env, gather
from bough.agents.sandbox.bwrap_arguments import BoxLimits, arguments, limited
from bough.agents.sandbox.detect import Availability, detect
from bough.agents.sandbox.own_network import plan
from bough.model.values.ids import new_id
from tests.support.repos import make_repo

STARTS = 15
ROUNDS = 9
MOST_LATER = 0.15
MOST_SLOWER = 1.1
INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}'
LIMITS = BoxLimits(memory=64 << 30, processes=8192, open_files=4096)
FILES = """
import os, sys, time
start = time.perf_counter()
os.makedirs("many", exist_ok=True)
for number in range(3000):
    with open(f"many/{number}", "w") as file:
        file.write("x" * 2000)
for number in range(3000):
    with open(f"many/{number}") as file:
        file.read()
    os.stat(f"many/{number}")
for number in range(3000):
    os.unlink(f"many/{number}")
print(time.perf_counter() - start)
"""
PROCESSES = """
import subprocess, time
start = time.perf_counter()
for _ in range(150):
    subprocess.run(["/bin/sh", "-c", "true"])
print(time.perf_counter() - start)
"""


async def run() -> Result:
    available = detect()
    if available.program is None:
        return Result(title="box", about=_ABOUT, rows=[Row(name="the sandbox does not work here", ours="")])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repo = make_repo(folder / "repo")
        request = BoxRequest(
            cwd=str(repo),
            read_only=False,
            data=folder / "data",
            env=dict(os.environ),
            command=[sys.executable],
        )
        box = _box(available.program, request)
        env = box_env(os.environ, folder / "data")
        rows = [
            await _starts("agent asked for to first answer", folder / "keepers", str(repo), Start(box, env)),
            await _strict(folder / "strict", available, request, env),
            await _work("files: 3,000 written, read and removed", FILES, str(repo), box),
            await _work("processes: 150 started", PROCESSES, str(repo), box),
        ]
    return Result(title="box", about=_ABOUT, rows=rows)


class Start(NamedTuple):
    """How an agent is started: the words before its command, its environment, and the start of its proxy."""

    box: Sequence[str]
    env: Mapping[str, str]
    network: Mapping[str, Any] | None = None


def _box(program: str, request: BoxRequest) -> list[str]:
    return [*arguments(program, gather(request)), "--", *limited(shutil.which("prlimit"), LIMITS)]


_ABOUT = """\
- **Ours:** the same program in the sandbox, in the profile `workspace` unless the row says otherwise.
- **Floor:** the program without it.
- **Start:** from the request for an agent to its answer to `initialize`, each under a keeper.
- **Work:** the time that a script inside needs, without its own start."""


async def _strict(root: Path, available: Availability, request: BoxRequest, env: Mapping[str, str]) -> Row:
    name = "the same in the profile strict"
    if available.program is None or available.network_reason:
        return Row(name=name, ours="does not work here")
    network = plan([], [], None)
    readable = [*request.readable, *network.readable]
    box = _box(available.program, replace(request, own_network=True, readable=readable))
    start = Start([*box, *network.words], {**env, **network.env}, network.start)
    return await _starts(name, root, request.cwd, start)


async def _starts(name: str, root: Path, cwd: str, start: Start) -> Row:
    launcher = KeeperLauncher(root)
    measures = _start(launcher, cwd, Start((), dict(os.environ))), _start(launcher, cwd, start)
    await measure.alternate(1, *measures)
    floor, ours = await measure.alternate(STARTS, *measures)
    later = ours.median - floor.median
    return Row(
        name=name,
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"+{later * 1e3:.0f} ms",
        target=f"≤ +{MOST_LATER * 1e3:.0f} ms",
        number=later,
        ok=later <= MOST_LATER,
    )


def _start(launcher: KeeperLauncher, cwd: str, how: Start) -> Callable[[], Awaitable[float]]:
    async def started() -> float:
        name = new_id()
        command = [sys.executable, "-m", "tests.support.misbehaving_agents.echo"]
        start = time.perf_counter()
        link = await launcher.start(name, command, cwd=cwd, env=how.env, box=how.box, network=how.network)
        try:
            await link.send(INITIALIZE, "initialize")
            await link.receive()
            return time.perf_counter() - start
        except LinkClosed as closed:
            raise RuntimeError(f"the agent ended: {closed.exit.stderr}") from closed
        finally:
            await link.end()
            await launcher.drop(name)

    return started


async def _work(name: str, script: str, cwd: str, box: Sequence[str]) -> Row:
    floor, ours = await measure.alternate(ROUNDS, _script(script, cwd, ()), _script(script, cwd, box))
    return _slower(name, floor, ours)


def _script(script: str, cwd: str, box: Sequence[str]) -> Callable[[], Awaitable[float]]:
    async def timed() -> float:
        process = await asyncio.create_subprocess_exec(
            *box, sys.executable, "-c", script, cwd=cwd, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        return float(output)

    return timed


def _slower(name: str, floor: Sample, ours: Sample) -> Row:
    ratio = ours.median / floor.median
    return Row(
        name=name,
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"{ratio:.2f}",
        target=f"≤ {MOST_SLOWER}",
        number=ratio,
        ok=ratio <= MOST_SLOWER,
    )
