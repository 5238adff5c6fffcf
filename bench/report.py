"""The table that a run prints and keeps: one row per number, with its floor, its target and whether it was met."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable

import msgspec

from bench.measure import ROOT, Sample

PAGE = ROOT / "docs" / "benchmarks.md"
HEADS = ("name", "floor", "ours", "ratio", "target", "ok")

INTRODUCTION = """\
# Benchmarks

Written by `make bench ARGS=--write`; do not edit. Each row compares Bough with a floor that was measured in the same
run, round by round in turn, so the ratios hold on other machines while the numbers do not. Numbers are medians; `±` is
half the distance between the quartiles. A row without a target is there to be looked at.
"""


class Row(msgspec.Struct, kw_only=True):
    """One number. `ok` is None where nothing was promised."""

    name: str
    floor: str = ""
    ours: str
    ratio: str = ""
    target: str = ""
    ok: bool | None = None

    def cells(self) -> tuple[str, ...]:
        met = "" if self.ok is None else "ok" if self.ok else "NOT"
        return (self.name, self.floor, self.ours, self.ratio, self.target, met)


class Result(msgspec.Struct, kw_only=True):
    """What one benchmark found, and what to know about how."""

    title: str
    about: str
    rows: list[Row]


def slower(name: str, floor: Sample, ours: Sample, most: float | None = None) -> Row:
    """A row of two times, where ours may be at most so many times the floor."""
    ratio = ours.median / floor.median
    return Row(
        name=name,
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"{ratio:.2f}",
        target=f"≤ {most:g}" if most is not None else "",
        ok=ratio <= most if most is not None else None,
    )


def duration(sample: Sample) -> str:
    """A time in the unit that suits it, with its noise."""
    seconds = sample.median
    value = f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"
    if seconds >= 1:
        value = f"{seconds:.2f} s"
    return value + noise(sample)


def noise(sample: Sample) -> str:
    return f" ±{sample.noise:.0%}" if sample.noise else ""


def as_text(result: Result) -> str:
    """The table for a terminal."""
    lines = [HEADS, *(row.cells() for row in result.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    return "\n".join([f"{result.title}", *table, ""])


def as_markdown(results: Iterable[Result]) -> str:
    parts = [INTRODUCTION, f"Measured with {_machine()}.\n"]
    for result in results:
        rows = [f"| {' | '.join(cells)} |" for cells in (HEADS, ("---",) * len(HEADS))]
        rows += [f"| {' | '.join(row.cells())} |" for row in result.rows]
        parts.append(f"## {result.title}\n\n{result.about}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _machine() -> str:
    return f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores"
