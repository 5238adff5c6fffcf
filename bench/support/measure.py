"""Takes measurements: alternating rounds of the floor and of Bough, medians and their spread, resident size."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "bench"


class Sample(msgspec.Struct):
    """Several measurements of one thing."""

    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def noise(self) -> float:
        """Returns half the distance between the quartiles, as a fraction of the median."""
        if len(self.values) < 4 or not self.median:
            return 0.0
        low, _, high = statistics.quantiles(self.values, n=4)
        return (high - low) / 2 / self.median


async def alternate(rounds: int, *measures: Callable[[], Awaitable[float]]) -> list[Sample]:
    """Takes each measurement once per round, in turn, so that a disturbance of the machine affects all of them."""
    samples = [Sample([]) for _ in measures]
    for _ in range(rounds):
        for sample, measure in zip(samples, measures, strict=True):
            gc.collect()
            sample.values.append(await measure())
    return samples


def per_call(calls: int, work: Callable[[], object]) -> Callable[[], Awaitable[float]]:
    """Returns a measurement: the seconds per call for this many calls in a row."""

    async def measure() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        return (time.perf_counter() - start) / calls

    return measure


def per_await(calls: int, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[float]]:
    """Returns the same for something that is awaited."""

    async def measure() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            await work()
        return (time.perf_counter() - start) / calls

    return measure


def resident(pid: int) -> float:
    """Returns the resident size of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"process {pid} has ended")


async def first_line(process: asyncio.subprocess.Process, seconds: float = 30.0) -> str:
    """Returns the line that a program prints when it is ready."""
    assert process.stdout is not None
    async with asyncio.timeout(seconds):
        line = await process.stdout.readline()
    if not line:
        raise RuntimeError("a program of the benchmark ended early; its output above says why")
    return line.decode().strip()
