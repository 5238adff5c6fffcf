"""Measures reading from a large database: at the services against the same statements on a bare connection, over HTTP
against a constant response of the same size; how both grow with the table; and many simultaneous writers."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from bench.clients.http import Http, at_once
from bench.floors import constant_response as constant
from bench.support import database, measure
from bench.support.database import Size
from bench.support.report import Result, Row, slower
from bough.app import build
from bough.core.services import Services
from bough.core.sessions.requests import SessionFilter
from bough.core.store.sql import MESSAGES, SESSIONS
from bough.core.transcripts.read import END
from bough.settings import Settings
from bough.storage.open import open_backend
from bough.storage.queries import Query
from bough.storage.sqlite_tx import connect
from tests.support.agents_without_keepers import Processes
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

LARGE = Size(10_000, 10_000, 100)
GROWTH = (Size(1_000, 1_000, 100), LARGE, Size(100_000, 1_000, 100))
ROUNDS = 15
CALLS = 60
MOST_AT_SERVICE = 3.0
MOST_OVER_HTTP = 2.0
PAGE, LAST = 20, 100
WRITERS = 20
# Ids come from the whole table, so that pages do too.
IDS = 500
COLD = " of another session each time"


async def run() -> Result:
    rows: list[Row] = []
    async with constant.running() as (floor_url, _):
        for size in GROWTH:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                await database.copied(size, folder / "data")
                held = size is LARGE
                rows += await _at_service(folder / "data", size, held)
                rows += await _over_http(folder, floor_url, size, held)
    return Result(title="rows", about=_ABOUT, rows=rows)


_ABOUT = """\
- **Service:** one call in process. Floor: the same statements on a bare sqlite3 connection with the same settings.
- **HTTP:** a kept-alive raw connection to `bough serve`. Floor: the same framework, server and authentication that
  answer with as many constant bytes.
- Targets apply to the second size; the others show what growth costs.
- The total number of sessions is counted again only after a change; the bare statements count it each time.
- While nothing is written, answers are reused. After a write, they are built from the rows again.
- For a page that is read for the first time (100 messages are about 50 kB), the bare statements alone take longer
  than the whole constant answer."""


async def _at_service(data: Path, size: Size, held: bool) -> list[Row]:
    db = await open_backend(str(data / "bough.db"))
    services = build(Settings(data=str(data)), db, Processes())
    bare = connect(data / "bough.db", read_only=True)
    try:
        ids = _some_ids(bare, size)
        ours = _service_calls(services, ids)
        floor = _bare_calls(bare, ids)
        most = MOST_AT_SERVICE if held else None
        return [
            slower(
                f"service: {name}, {size.sessions:,} sessions",
                await measure.alternate(
                    ROUNDS, measure.per_call(CALLS, floor[name]), measure.per_await(CALLS, ours[name])
                ),
                most,
            )
            for name in ours
        ]
    finally:
        bare.close()
        await db.close()


def _some_ids(bare: sqlite3.Connection, size: Size) -> Iterator[str]:
    every = max(1, size.talking // IDS)
    rows = bare.execute("SELECT DISTINCT session_id FROM tasks").fetchall()
    return itertools.cycle([session_id for (session_id,) in rows[::every]])


def _service_calls(services: Services, ids: Iterator[str]) -> dict[str, Callable[[], Awaitable[object]]]:
    return {
        f"list of {PAGE}": lambda: services.sessions.list(SessionFilter(), PAGE, 0),
        "get one": lambda: services.sessions.get(next(ids)),
        f"last {LAST} messages": lambda: services.transcript.page(next(ids), limit=LAST),
    }


def _bare_calls(bare: sqlite3.Connection, ids: Iterator[str]) -> dict[str, Callable[[], object]]:
    page, page_values = _bound(SESSIONS.page.with_(where="TRUE"), limit=PAGE, offset=0)
    count, _ = _bound(SESSIONS.count.with_(where="TRUE"))
    get, _ = _bound(SESSIONS.get, id="")
    last, (_, *last_values) = _bound(MESSAGES.last, session_id="", low=-END, high=END, limit=LAST)

    def list_page() -> object:
        return bare.execute(page, page_values).fetchall(), bare.execute(count).fetchone()

    def get_one() -> object:
        return bare.execute(get, (next(ids),)).fetchone()

    def last_messages() -> object:
        session_id = next(ids)
        return bare.execute(get, (session_id,)).fetchone(), bare.execute(last, (session_id, *last_values)).fetchall()

    return {f"list of {PAGE}": list_page, "get one": get_one, f"last {LAST} messages": last_messages}


def _bound(query: Query, **params: Any) -> tuple[str, list[Any]]:
    statement, values = query.bind("sqlite", params)
    return statement.sql, values


async def _over_http(folder: Path, floor_url: str, size: Size, held: bool) -> list[Row]:
    server = ServerProcess(folder / "data", folder / "work", env={"BOUGH_MAX_SESSIONS": "1000"})
    async with server:
        with Http(server.url, server.token) as ours, Http(floor_url, constant.TOKEN) as floor:
            rows = [
                await _against_constant(f"HTTP: {name}, {size.sessions:,} sessions", paths, ours, floor, held)
                for name, paths in _paths(ours, folder / "data", size).items()
            ]
            rows.append(await _after_writes(folder / "data", size, ours, floor))
        if held:
            rows += await _writers(server, folder)
        return rows


def _paths(http: Http, data: Path, size: Size) -> dict[str, Iterator[str]]:
    bare = connect(data / "bough.db", read_only=True)
    ids = _some_ids(bare, size)
    bare.close()
    known = next(ids)
    return {
        f"list of {PAGE}": itertools.repeat(f"/api/sessions?limit={PAGE}"),
        f"get one with its {size.messages} messages": itertools.repeat(f"/api/sessions/{known}"),
        f"last {LAST} messages": itertools.repeat(f"/api/sessions/{known}/messages?limit={LAST}"),
        f"last {LAST} messages{COLD}": (f"/api/sessions/{item_id}/messages?limit={LAST}" for item_id in ids),
    }


async def _against_constant(name: str, paths: Iterator[str], ours: Http, floor: Http, held: bool) -> Row:
    sizes = [len(ours.get(next(paths)).body) for _ in range(20)]
    same_size = f"/constant/{round(sum(sizes) / len(sizes))}"
    samples = await measure.alternate(
        ROUNDS,
        measure.per_call(CALLS, lambda: floor.get(same_size)),
        measure.per_call(CALLS, lambda: _expect_ok(ours, next(paths))),
    )
    return slower(name, samples, MOST_OVER_HTTP if held and COLD not in name else None)


async def _after_writes(data: Path, size: Size, ours: Http, floor: Http) -> Row:
    """Measures a page that is read again after each unrelated write; the write is not timed."""
    bare = connect(data / "bough.db")
    path = f"/api/sessions/{next(_some_ids(bare, size))}/messages?limit={LAST}"
    same_size = f"/constant/{len(ours.get(path).body)}"

    async def read() -> float:
        seconds = 0.0
        for _ in range(CALLS):
            bare.execute("UPDATE counters SET value = value + 1 WHERE name = 'admission'")
            start = time.perf_counter()
            _expect_ok(ours, path)
            seconds += time.perf_counter() - start
        return seconds / CALLS

    try:
        samples = await measure.alternate(ROUNDS, measure.per_call(CALLS, lambda: floor.get(same_size)), read)
    finally:
        bare.close()
    return slower(f"HTTP: last {LAST} messages after a write, {size.sessions:,} sessions", samples, None)


def _expect_ok(http: Http, path: str) -> None:
    answer = http.get(path)
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {answer.body[:300]!r}")


async def _writers(server: ServerProcess, folder: Path) -> list[Row]:
    """Creates and prompts sessions at the same moment; all of them must be accepted."""
    with Http(server.url, server.token) as http:
        repo_id = http.post("/api/repos", {"path": str(make_repo(folder / "work" / "repo"))}).json()["id"]
        body = {"repoId": repo_id, "agent": "demo"}
        start = time.perf_counter()
        opened = await at_once(server.url, server.token, [("/api/sessions", body)] * WRITERS)
        creating = time.perf_counter() - start
        prompts = [(f"/api/sessions/{item.json()['id']}/prompt", {"text": "Hello."}) for item in opened]
        start = time.perf_counter()
        prompted = await at_once(server.url, server.token, prompts)
        prompting = time.perf_counter() - start
        await _ended(http, [item.json()["taskId"] for item in prompted])
        running = time.perf_counter() - start
    refused = sum(item.status >= 400 for item in (*opened, *prompted))
    accepted = f"{2 * WRITERS - refused} of {2 * WRITERS}"
    return [
        Row(name="writers at once: requests taken", ours=accepted, target="all", number=refused, ok=refused == 0),
        Row(name=f"… {WRITERS} sessions created", ours=f"{creating * 1e3:.0f} ms"),
        Row(name=f"… {WRITERS} prompts accepted", ours=f"{prompting * 1e3:.0f} ms"),
        Row(name=f"… {WRITERS} agents started and turns ended", ours=f"{running:.1f} s"),
    ]


async def _ended(http: Http, task_ids: list[str]) -> None:
    async with asyncio.timeout(60):
        for task_id in task_ids:
            while http.get(f"/api/tasks/{task_id}").json()["status"] != "completed":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
