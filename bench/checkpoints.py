"""Measures a checkpoint against the `git status` that every task runs anyway: with nothing changed, with one file
changed, and with many."""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from pathlib import Path

from bench.support import measure
from bench.support.report import Result, Row, duration, slower
from bough.git.refs import checkpoint_refs
from bough.git.working_copy.folder_state import state
from bough.git.working_copy.restore import apply, plan
from bough.git.working_copy.snapshot import FRESH, Memory, take
from tests.support.repos import git, make_repo

ROUNDS = 15
CALLS = 3
FILES = 5000
FOLDERS = 100
MANY = 200
MOST_UNCHANGED = 1.5
MOST_ONE = 4.0


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        repo = make_repo(Path(name) / "repo")
        _fill(repo)
        path = str(repo)
        memory = Memory()

        async def look() -> None:
            await state(path)

        async def unchanged() -> None:
            await take(path, memory=memory)

        floor = measure.per_await(CALLS, look)
        await measure.alternate(2, floor, measure.per_await(CALLS, unchanged))
        clean = await measure.alternate(ROUNDS, floor, measure.per_await(CALLS, unchanged))
        _touch(repo, MANY)
        await unchanged()
        dirty = await measure.alternate(ROUNDS, floor, measure.per_await(CALLS, unchanged))
        git(repo, "commit", "--quiet", "--all", "--message", "Many.")

        numbers = itertools.count()

        async def one_changed() -> float:
            (repo / "0" / "0").write_text(f"changed {next(numbers)}\n", "utf-8")
            start = time.perf_counter()
            snapshot = await take(path, memory=memory)
            await checkpoint_refs.keep(path, {checkpoint_refs.ref_name("bench", "one", "after"): snapshot.sha})
            return time.perf_counter() - start

        single = await measure.alternate(ROUNDS, floor, one_changed)

        async def many_changed() -> float:
            for number in range(MANY):
                _file(repo, number).write_text(f"many {next(numbers)}\n", "utf-8")
            start = time.perf_counter()
            await take(path, memory=memory)
            return time.perf_counter() - start

        many = await measure.alternate(ROUNDS, floor, many_changed)

        async def brought_back() -> float:
            for number in range(MANY):
                _file(repo, number).write_text(f"many {next(numbers)}\n", "utf-8")
            start = time.perf_counter()
            await apply(await plan(path, "HEAD"))
            return time.perf_counter() - start

        back = await measure.alternate(ROUNDS, brought_back)
    rows = [
        slower("nothing changed, nothing uncommitted", clean, MOST_UNCHANGED),
        slower(f"nothing changed, {MANY} files uncommitted", dirty, MOST_UNCHANGED),
        slower("one file changed, ref written", single, MOST_ONE),
        slower(f"{MANY} files changed", many),
        Row(name=f"{MANY} files brought back", ours=duration(back[0])),
    ]
    return Result(title="checkpoints", about=_ABOUT, rows=rows)


_ABOUT = f"""\
- **Setup:** a repository of {FILES:,} files.
- **Floor:** the `git status` with which a task without checkpoints records the state of the working copy. A
  checkpoint replaces it.
- **Ours:** a checkpoint. If nothing has changed since the last one, it is that command and a comparison; otherwise
  git hashes and stores the changes, in an index of its own."""


def _file(repo: Path, number: int) -> Path:
    return repo / str(number % FOLDERS) / str(number)


def _fill(repo: Path) -> None:
    for number in range(FILES):
        path = _file(repo, number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"file {number}\n" * 20, "utf-8")
        os.utime(path, (1, 1))
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "Files.")


def _touch(repo: Path, count: int) -> None:
    """Changes files and makes them old enough that their times can be trusted."""
    for number in range(count):
        _file(repo, number).write_text(f"changed {number}\n", "utf-8")
    last = (_file(repo, count - 1)).lstat().st_ctime_ns
    while time.time_ns() - last <= FRESH:
        time.sleep(0.1)
