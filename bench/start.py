"""Measures the start of the server and its resident size, with an empty and with a large database. The floor is a
server of the same framework with one route."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.floors import constant_response as constant
from bench.rows import LARGE
from bench.support import database, measure
from bench.support.measure import Sample
from bench.support.report import Result, Row, duration
from tests.support.server import ServerProcess

ROUNDS = 7
MOST_SECONDS = 2.5
MOST_MB = 130.0
# SQLite's page caches fill up with a large file, and stay bounded.
MOST_GROWTH = 1.10


class _Starts:
    """One data folder, started again and again."""

    def __init__(self, folder: Path) -> None:
        self._server = ServerProcess(folder / "data", folder / "work")
        self.sizes = Sample([])

    async def measure(self) -> float:
        start = time.perf_counter()
        await self._server.start()
        seconds = time.perf_counter() - start
        assert self._server.process is not None
        self.sizes.values.append(measure.resident(self._server.process.pid))
        await self._server.stop()
        return seconds


class _Floor:
    def __init__(self) -> None:
        self.sizes = Sample([])

    async def measure(self) -> float:
        start = time.perf_counter()
        async with constant.running() as (_, process):
            seconds = time.perf_counter() - start
            self.sizes.values.append(measure.resident(process.pid))
        return seconds


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await database.copied(LARGE, folder / "large" / "data")
        floor, empty, large = _Floor(), _Starts(folder / "empty"), _Starts(folder / "large")
        # The first start creates the database and warms the file cache for the others.
        first = await empty.measure()
        await large.measure()
        times = await measure.alternate(ROUNDS, floor.measure, empty.measure, large.measure)
    rows = [
        Row(name="first start ever, empty database", ours=f"{first * 1e3:.0f} ms"),
        _time("start, empty database", times[0], times[1]),
        _time(f"start, {LARGE}", times[0], times[2]),
        _size("resident, empty database", floor.sizes, empty.sizes),
        _size(f"resident, {LARGE}", floor.sizes, large.sizes),
        _growth(empty.sizes, large.sizes),
    ]
    return Result(title="start", about=_ABOUT, rows=rows)


_ABOUT = """\
- **Ours:** from starting the process to its link on stdout, and its resident memory then.
- **Floor:** a server of the same framework with one route that answers a constant."""


def _time(name: str, floor: Sample, ours: Sample) -> Row:
    return Row(
        name=name,
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"{ours.median / floor.median:.2f}",
        target=f"≤ {MOST_SECONDS} s",
        number=ours.median,
        ok=ours.median <= MOST_SECONDS,
    )


def _size(name: str, floor: Sample, ours: Sample) -> Row:
    return Row(
        name=name,
        floor=f"{floor.median:.0f} MB",
        ours=f"{ours.median:.0f} MB",
        ratio=f"{ours.median / floor.median:.2f}",
        target=f"≤ {MOST_MB:.0f} MB",
        number=ours.median,
        ok=ours.median <= MOST_MB,
    )


def _growth(empty: Sample, large: Sample) -> Row:
    ratio = large.median / empty.median
    return Row(
        name="resident, large against empty",
        floor=f"{empty.median:.0f} MB",
        ours=f"{large.median:.0f} MB",
        ratio=f"{ratio:.2f}",
        target=f"≤ {MOST_GROWTH}",
        number=ratio,
        ok=ratio <= MOST_GROWTH,
    )
