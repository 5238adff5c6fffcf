"""Builds the table that a run prints and stores: one row per number, with its floor, its target and whether it was
met."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.support.measure import ROOT, Sample

PAGE = ROOT / "docs/reference/benchmarks.md"
MISSED = "MISSED"
HEADS = ("name", "floor", "ours", "ratio", "target", "ok")

INTRODUCTION = """\
# Benchmarks

Look up how fast Bough is, as ratios that hold on other machines. `make bench ARGS=--write` writes this page,
`make bench ARGS="box --write"` one table of it; do not edit it.

```sh
make bench                        # prints all tables
make bench ARGS="stream rows"     # prints some of them
make bench ARGS=--json            # prints numbers for programs
```

- Each row compares Bough with a floor that was measured in the same run, in alternating rounds. The ratios hold on
  other machines; the numbers do not.
- Numbers are medians; `±` is half the distance between the quartiles.
- A row without a target is informative. A target that was not met is marked **MISSED**, and makes the exit code 1.
- Databases of a million messages are created once and kept under `.cache/bench`.
"""


class Row(msgspec.Struct, kw_only=True):
    """One number. `number` is compared with the target; `ok` is None where nothing was promised."""

    name: str
    floor: str = ""
    ours: str
    ratio: str = ""
    target: str = ""
    number: float | None = None
    ok: bool | None = None

    def cells(self) -> tuple[str, ...]:
        met = "" if self.ok is None else "ok" if self.ok else MISSED
        return (self.name, self.floor, self.ours, self.ratio, self.target, met)


class Result(msgspec.Struct, kw_only=True):
    """The rows of one benchmark, and how they were measured."""

    title: str
    about: str
    rows: list[Row]


def slower(name: str, samples: Sequence[Sample], most: float | None = None) -> Row:
    """Returns a row of two times, the floor's and ours, where ours may be at most `most` times the floor."""
    floor, ours = samples
    ratio = ours.median / floor.median
    return Row(
        name=name,
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"{ratio:.2f}",
        target=f"≤ {most:g}" if most is not None else "",
        number=ratio,
        ok=ratio <= most if most is not None else None,
    )


def duration(sample: Sample) -> str:
    """Returns a time in a suitable unit, with its noise."""
    seconds = sample.median
    value = f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"
    if seconds >= 1:
        value = f"{seconds:.2f} s"
    return value + noise(sample)


def noise(sample: Sample) -> str:
    return f" ±{sample.noise:.0%}" if sample.noise else ""


def as_text(result: Result) -> str:
    """Returns the table for a terminal."""
    lines = [HEADS, *(row.cells() for row in result.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([f"{result.title}", *table, ""])


def as_markdown(results: Sequence[Result], titles: Sequence[str], page: str = "") -> str:
    """Returns the page with these results; the other titles keep the tables that the page has."""
    tables = {text.partition("\n")[0]: text for text in page.split("\n## ")[1:]}
    tables |= {result.title: _table(result) for result in results}
    return "\n## ".join([INTRODUCTION, *(tables.get(title, f"{title}\n\nNot measured yet.\n") for title in titles)])


def _table(result: Result) -> str:
    missed = sum(row.ok is False for row in result.rows)
    verdict = f" **Targets missed: {missed}.**" if missed else ""
    rows = [f"| {' | '.join(cells)} |" for cells in (HEADS, ("---",) * len(HEADS))]
    rows += [f"| {' | '.join(row.cells()).replace(MISSED, f'**{MISSED}**')} |" for row in result.rows]
    measured = f"Measured on {_date()} with {machine()}.{verdict}"
    return "\n\n".join([result.title, result.about, "\n".join(rows), f"{measured}\n"])


def as_json(results: Sequence[Result]) -> str:
    """Returns the results for programs."""
    return msgspec.json.encode({"date": _date(), "machine": machine(), "results": results}).decode()


def machine() -> str:
    cpu = "an unknown processor"
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, Linux {platform.release()}, "
        f"{os.cpu_count()} cores of {cpu}, {memory:.0f} GB"
    )


def _date() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")
