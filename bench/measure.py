"""Taking numbers: rounds of the floor and of Bough that alternate, medians and how much they scatter, resident size.
What is measured is each benchmark's part."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "bench"


class Sample(msgspec.Struct):
    """One thing measured several times."""

    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def noise(self) -> float:
        """Half the distance between the quartiles, as a part of the median."""
        if len(self.values) < 4 or not self.median:
            return 0.0
        low, _, high = statistics.quantiles(self.values, n=4)
        return (high - low) / 2 / self.median


async def alternate(rounds: int, *measures: Callable[[], Awaitable[float]]) -> list[Sample]:
    """Takes each measure once per round, in turn: what disturbs the machine for a while then disturbs all of them."""
    samples = [Sample([]) for _ in measures]
    for _ in range(rounds):
        for sample, measure in zip(samples, measures, strict=True):
            gc.collect()
            sample.values.append(await measure())
    return samples


def per_call(calls: int, work: Callable[[], object]) -> Callable[[], Awaitable[float]]:
    """A measure: seconds for one of so many calls in a row."""

    async def measure() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        return (time.perf_counter() - start) / calls

    return measure


def per_await(calls: int, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[float]]:
    """The same for something that is awaited."""

    async def measure() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            await work()
        return (time.perf_counter() - start) / calls

    return measure


def resident(pid: int) -> float:
    """Resident size of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"process {pid} has ended")


async def first_line(process: asyncio.subprocess.Process, seconds: float = 30.0) -> str:
    """What a program says when it is ready."""
    assert process.stdout is not None
    async with asyncio.timeout(seconds):
        line = await process.stdout.readline()
    if not line:
        raise RuntimeError("a helper program of the benchmark ended early; see above for why")
    return line.decode().strip()
