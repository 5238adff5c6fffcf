"""Measures reading whole trees of a thousand sessions: at the service and over HTTP, against the same statements on a
bare connection with all rows fetched."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.clients.http import Http
from bench.support import database, measure
from bench.support.database import Size
from bench.support.report import Result, Row, slower
from bough.app import build
from bough.core.store.sql import SESSIONS, TREES
from bough.core.trees.tree import NODES
from bough.settings import Settings
from bough.storage.open import open_backend
from bough.storage.queries import Query
from bough.storage.sqlite_tx import connect
from tests.support.agents_without_keepers import Processes
from tests.support.server import ServerProcess

LARGE = 1_000
TREES_THERE = 10
# The number of children per session, until all sessions are used.
CHILDREN = 10
ROUNDS = 15
CALLS = 20
MOST = 3.0


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        await database.copied(Size(LARGE * TREES_THERE, LARGE * TREES_THERE, 1), data)
        root = _planted(data)
        bare = connect(data / "bough.db", read_only=True)
        try:
            rows = [await _at_service(data, root, bare), *await _over_http(Path(name), root, bare)]
        finally:
            bare.close()
    return Result(title="trees", about=_ABOUT, rows=rows)


_ABOUT = f"""\
- **Setup:** one of {TREES_THERE} trees of {LARGE:,} sessions each, some of which have queued prompts, open
  approvals and reports.
- **Floor:** the statements that read it (the session, the nodes with their counts, the budget) on a bare sqlite3
  connection with the same settings. All rows are fetched and discarded.
- **Service:** the same as structs, with totals.
- **HTTP:** the whole answer as JSON at a client, after a write (which is not timed) and without one."""

PLANT = """
UPDATE sessions SET kind = 'subsession', root_session_id = ?, parent_session_id = ?, depth = ?, turns = 3,
    tokens = 12345, seconds = 12.5, spent = 0.25 WHERE id = ?"""
QUEUE = "UPDATE tasks SET status = 'queued', ended_at = NULL WHERE rowid % 20 = 0"
ASK = """
INSERT INTO approvals (id, session_id, task_id, attempt, title, tool_kind, tool_call, options, request_id, status,
                       created_at, updated_at)
SELECT substr(id, 1, 35) || 'a', session_id, id, 1, 'Run it?', 'execute', '{}', '[]', '1', 'pending', created_at,
       created_at FROM tasks WHERE rowid % 40 = 0"""
REPORT = """
INSERT INTO callbacks (id, child_session_id, child_task_id, parent_session_id, state, text, created_at, updated_at)
SELECT substr(t.id, 1, 35) || 'c', s.id, t.id, s.parent_session_id, 'held', 'A report.', t.created_at, t.created_at
FROM tasks t JOIN sessions s ON s.id = t.session_id WHERE s.parent_session_id IS NOT NULL"""


def _planted(data: Path) -> str:
    """Turns the existing sessions into trees and returns the root of one in the middle."""
    connection = sqlite3.connect(data / "bough.db", isolation_level=None)
    ids: list[str] = [session_id for (session_id,) in connection.execute("SELECT id FROM sessions ORDER BY id")]
    connection.execute("BEGIN")
    for start in range(0, len(ids), LARGE):
        tree = ids[start : start + LARGE]
        depths = [0]
        for place in range(1, LARGE):
            depths.append(depths[(place - 1) // CHILDREN] + 1)
            above = (place - 1) // CHILDREN
            connection.execute(PLANT, (tree[0], tree[above], depths[place], tree[place]))
    for statement in (QUEUE, ASK, REPORT):
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.execute("ANALYZE")
    connection.close()
    return ids[len(ids) // 2 // LARGE * LARGE]


def _fetched(bare: sqlite3.Connection, root: str) -> Callable[[], object]:
    """Returns a function that runs only the same statements."""
    get, nodes, budget = _sql(SESSIONS.get, id=root), _sql(NODES, root=root), _sql(TREES.budget, root=root)

    def fetch() -> object:
        rows = bare.execute(*nodes).fetchall()
        if len(rows) != LARGE:
            raise RuntimeError(f"the tree has {len(rows)} sessions")
        return bare.execute(*get).fetchone(), rows, bare.execute(*budget).fetchone()

    return fetch


def _sql(query: Query, **params: Any) -> tuple[str, list[Any]]:
    statement, values = query.bind("sqlite", params)
    return statement.sql, values


async def _at_service(data: Path, root: str, bare: sqlite3.Connection) -> Row:
    db = await open_backend(str(data / "bough.db"))
    services = build(Settings(data=str(data)), db, Processes())
    try:
        samples = await measure.alternate(
            ROUNDS,
            measure.per_call(CALLS, _fetched(bare, root)),
            measure.per_await(CALLS, lambda: services.trees.get(root)),
        )
    finally:
        await db.close()
    return slower(f"service: a tree of {LARGE:,} sessions", samples, MOST)


async def _over_http(folder: Path, root: str, bare: sqlite3.Connection) -> list[Row]:
    server = ServerProcess(folder / "data", folder / "work", env={"BOUGH_MAX_AGENTS": "1"})
    async with contextlib.AsyncExitStack() as stack:
        writer = stack.enter_context(contextlib.closing(connect(folder / "data" / "bough.db")))
        await stack.enter_async_context(server)
        with Http(server.url, server.token) as http:
            path = f"/api/sessions/{root}/tree"
            numbers = itertools.count()

            def get() -> None:
                answer = http.get(path)
                if answer.status != 200:
                    raise RuntimeError(f"{path}: {answer.status} {answer.body[:300]!r}")

            async def after_a_write() -> float:
                seconds = 0.0
                for _ in range(CALLS):
                    writer.execute("UPDATE sessions SET title = ? WHERE id = ?", (f"Title {next(numbers)}", root))
                    start = time.perf_counter()
                    get()
                    seconds += time.perf_counter() - start
                return seconds / CALLS

            fetch = measure.per_call(CALLS, _fetched(bare, root))
            written = await measure.alternate(ROUNDS, fetch, after_a_write)
            again = await measure.alternate(ROUNDS, fetch, measure.per_call(CALLS, get))
    return [
        slower(f"HTTP: a tree of {LARGE:,} sessions after a write", written, MOST),
        slower("… and again, nothing written", again, MOST),
    ]
