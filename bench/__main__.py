"""Runs the named benchmarks, or all, and prints their tables: `python -m bench [NAME…] [--json] [--write]`. With
`--write` it also stores them in `docs/reference/benchmarks.md`; a missed target makes the exit code 1."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable

import uvloop

from bench import (
    box,
    checkpoints,
    crowd,
    delay,
    editors,
    keeper,
    page,
    rows,
    search,
    start,
    storage,
    stream,
    tools,
    tree_reads,
)
from bench.support import report

ALL: dict[str, Callable[[], Awaitable[report.Result]]] = {
    "stream": stream.run,
    "delay": delay.run,
    "keeper": keeper.run,
    "box": box.run,
    "crowd": crowd.run,
    "rows": rows.run,
    "start": start.run,
    "storage": storage.run,
    "checkpoints": checkpoints.run,
    "trees": tree_reads.run,
    "tools": tools.run,
    "editors": editors.run,
    "search": search.run,
    "page": page.run,
}


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(ALL)}; all if none is named")
    parser.add_argument("--write", action="store_true", help="also store the tables in docs/reference/benchmarks.md")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    arguments = parser.parse_args()
    names: list[str] = arguments.names or list(ALL)
    unknown = sorted(set(names) - set(ALL))
    if unknown:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(ALL)}")
    results: list[report.Result] = []
    for name in names:
        results.append(await ALL[name]())
        if not arguments.json:
            print(report.as_text(results[-1]), flush=True)
    if arguments.json:
        print(report.as_json(results))
    if arguments.write:
        page = report.PAGE.read_text("utf-8") if report.PAGE.exists() else ""
        report.PAGE.write_text(report.as_markdown(results, list(ALL), page), "utf-8")
    return 1 if any(row.ok is False for result in results for row in result.rows) else 0


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(main()))
