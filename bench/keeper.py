"""Measures what a keeper costs: throughput of a long turn with and without one, its size, and how much later an agent
answers."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.support import measure, recording, turns
from bench.support.report import Result, Row, duration, noise
from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from bough.agents.launcher import Launcher
from bough.agents.link import LinkClosed
from bough.model.values.ids import new_id
from tests.support.agents_without_keepers import Processes

ROUNDS = 15
WARM_UP = 3
FEWEST = 0.6
MOST_MB = 16.0
STARTS = 15
MOST_LATER = 0.3
INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}'


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*await _streams(folder), await _starts(folder)]
    return Result(title="keeper", about=_ABOUT, rows=rows)


_ABOUT = """\
- **Setup:** the turn of `stream` through two servers. The text must be complete in both.
- **Floor:** a server that starts agents itself, without keepers.
- **Size:** the keeper's process after it has passed on all those turns, including Python itself.
- **Start:** from the request for an agent to its answer to `initialize`."""


async def _streams(folder: Path) -> list[Row]:
    spoken = recording.make()
    command = turns.replaying(spoken.save(folder / "turn.jsonl"))
    bare, with_keepers = folder / "bare", folder / "kept"
    async with (
        turns.server(bare, command, module=turns.WITHOUT_KEEPERS) as floor_server,
        turns.server(with_keepers, command) as our_server,
        turns.subscribed(floor_server, bare, spoken) as floor_turn,
        turns.subscribed(our_server, with_keepers, spoken) as our_turn,
    ):
        await measure.alternate(WARM_UP, floor_turn.take, our_turn.take)
        floor, ours = await measure.alternate(ROUNDS, floor_turn.take, our_turn.take)
        size = statistics.median(measure.resident(pid) for pid in _keepers(with_keepers / "data" / "keepers"))
    ratio = floor.median / ours.median
    return [
        Row(
            name=f"{spoken.updates:,} updates, updates/s",
            floor=f"{spoken.updates / floor.median:,.0f}{noise(floor)}",
            ours=f"{spoken.updates / ours.median:,.0f}{noise(ours)}",
            ratio=f"{ratio:.2f}",
            target=f"≥ {FEWEST}",
            number=ratio,
            ok=ratio >= FEWEST,
        ),
        Row(
            name=f"resident after {WARM_UP + ROUNDS} turns",
            ours=f"{size:.1f} MB",
            target=f"≤ {MOST_MB:.0f} MB",
            number=size,
            ok=size <= MOST_MB,
        ),
    ]


def _keepers(root: Path) -> list[int]:
    keepers = [keeper_folder.read_info(folder) for folder in keeper_folder.list_keepers(root)]
    pids = [about.keeper.pid for about in keepers if about is not None]
    if not pids:
        raise RuntimeError("the server has started no keeper")
    return pids


async def _starts(folder: Path) -> Row:
    await measure.alternate(1, _start(Processes()), _start(KeeperLauncher(folder / "keepers")))
    floor, ours = await measure.alternate(STARTS, _start(Processes()), _start(KeeperLauncher(folder / "keepers")))
    later = ours.median - floor.median
    return Row(
        name="agent asked for to first answer",
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"+{later * 1e3:.0f} ms",
        target=f"≤ +{MOST_LATER * 1e3:.0f} ms",
        number=later,
        ok=later <= MOST_LATER,
    )


def _start(launcher: Launcher) -> Callable[[], Awaitable[float]]:
    async def started() -> float:
        name = new_id()
        command = [sys.executable, "-m", "tests.support.misbehaving_agents.echo"]
        start = time.perf_counter()
        link = await launcher.start(name, command, cwd="/", env=dict(os.environ))
        try:
            await link.send(INITIALIZE, "initialize")
            await link.receive()
            seconds = time.perf_counter() - start
        except LinkClosed as closed:
            raise RuntimeError(f"the agent ended: {closed.exit.stderr}") from closed
        finally:
            await link.end()
            await launcher.drop(name)
        return seconds

    return started
