"""O3: Tests what only PostgreSQL has: lost connections and more than one machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from bough.errors import Busy, Internal, Invalid
from bough.storage import migrate, postgres_locks, queries
from bough.storage.backend import Backend, Tx
from bough.storage.open import open_backend
from bough.storage.queries import Query
from tests.support.eventually import eventually
from tests.support.postgres import Postgres
from tests.support.processes import running

pytestmark = pytest.mark.postgres

FOLDER = Path(__file__).with_name("migrations")
Q = queries.load("boxes", Path(__file__).with_name("sql"))
PID = Query("pid", "SELECT pg_backend_pid()", "The process that serves this connection.")
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
async def admin(postgres_url: str) -> AsyncGenerator[Any]:
    """A connection that can terminate the others."""
    connect: Any = asyncpg.connect  # type: ignore[reportUnknownMemberType]
    connection = await connect(postgres_url, server_settings={"application_name": "test"})
    yield connection
    await connection.close()


@pytest.fixture
async def boxes(postgres_url: str) -> AsyncGenerator[Backend]:
    backend = await open_backend(postgres_url)
    await migrate.upgrade(backend, to=1, folder=FOLDER)
    yield backend
    await backend.close()


async def add(backend: Backend, id: str) -> None:
    async def work(tx: Tx) -> None:
        await tx.run(Q.add, id=id, label=id)
        tx.notify("news", id)

    await backend.transaction(work)


async def test_processes_hear_each_other(boxes: Backend, postgres_url: str) -> None:
    """O3: An event reaches every server."""
    other = await open_backend(postgres_url)
    received: list[str] = []
    other.listen("news", received.append)
    await add(boxes, "b1")
    await eventually(lambda: received == ["b1"])
    await other.close()


async def test_listeners_scan_again_after_a_lost_connection(boxes: Backend, admin: Any) -> None:
    """A3: Listeners scan for what they missed while PostgreSQL was away; then everything works again."""
    received: list[str] = []
    others: list[str] = []
    boxes.listen("news", received.append)
    boxes.listen("other", others.append)
    for number in range(3):
        received.clear()
        others.clear()
        await admin.execute(CUT)
        await eventually(lambda: received == [""] and others == [""])
        await add(boxes, f"b{number}")
        await eventually(lambda number=number: received == ["", f"b{number}"])


async def test_a_transaction_whose_connection_is_lost_runs_again(boxes: Backend, admin: Any) -> None:
    """Q4: A restart of PostgreSQL during a transaction leads to a retry, not an error."""
    runs = 0

    async def work(tx: Tx) -> None:
        nonlocal runs
        runs += 1
        await tx.run(Q.add, id="b1", label="one")
        if runs == 1:
            await admin.execute("SELECT pg_terminate_backend($1)", await tx.value(PID))
        await tx.run(Q.hit, id="b1")

    await boxes.transaction(work)
    assert runs == 2
    assert await boxes.read(lambda tx: tx.value(Q.hits, id="b1")) == 1


async def test_a_name_is_reclaimed_after_a_lost_connection(boxes: Backend, postgres_url: str, admin: Any) -> None:
    """O3: A running owner stays the owner if only its connection was lost."""
    holder = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
    async with boxes.own("host-h7"):
        first = await admin.fetchval(holder)
        await admin.execute("SELECT pg_terminate_backend($1)", first)

        async def back() -> bool:
            return await admin.fetchval(holder) not in (None, first)

        await eventually(back)
        with pytest.raises(Busy):
            async with boxes.own("host-h7"):
                pytest.fail("owned twice")
    assert await admin.fetchval(holder) is None


async def test_an_owner_that_lost_its_name_to_another_is_stopped(boxes: Backend, postgres_url: str, admin: Any) -> None:
    """O3: Two hosts never both believe that they are h7."""
    connect: Any = asyncpg.connect  # type: ignore[reportUnknownMemberType]
    rival = await connect(postgres_url)
    with pytest.raises(Busy) as caught:
        async with boxes.own("host-h7"):
            holder = await admin.fetchval("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted")
            taking = asyncio.create_task(
                rival.execute("SELECT pg_advisory_lock($1)", postgres_locks.key("own host-h7"))
            )

            async def rival_waits() -> bool:
                queued = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                return await admin.fetchval(queued) == 1

            await eventually(rival_waits)
            await admin.execute("SELECT pg_terminate_backend($1)", holder)
            await taking
            async with asyncio.timeout(10):
                await asyncio.Event().wait()
    assert caught.value.code == "database_in_use"
    current = asyncio.current_task()
    assert current is not None and current.cancelling() == 0
    await rival.close()


async def test_text_columns_have_the_order_of_sqlite(boxes: Backend, admin: Any) -> None:
    """A1: Text sorts by bytes, whatever the database's own language is."""
    await migrate.upgrade(boxes, folder=FOLDER)
    columns = await admin.fetch(
        "SELECT collation_name FROM information_schema.columns"
        " WHERE table_name IN ('boxes', 'things') AND data_type = 'text'"
    )
    assert [row[0] for row in columns] == ["C"] * 6
    default = await admin.fetchval("SELECT column_default FROM information_schema.columns WHERE column_name = 'label'")
    assert default == "'a;b :c TEXT'::text"


async def test_a_parameter_of_the_wrong_kind_is_named(boxes: Backend) -> None:
    """R6: PostgreSQL refuses a wrong type that SQLite would convert, and the error names the parameter."""
    with pytest.raises(Internal) as caught:
        await boxes.transaction(lambda tx: tx.run(Q.add, id=1, label="one"))
    assert caught.value.code == "query_parameters"


@pytest.mark.parametrize("url", ["postgresql://bough@/bough?host=/nowhere", "postgresql://bough@127.0.0.1:1/bough"])
async def test_an_unreachable_server_is_reported(url: str) -> None:
    """L1: An unreachable database is a clear error, not a crash."""
    with pytest.raises(Busy) as caught:
        await open_backend(url)
    assert caught.value.code == "database_unreachable"


async def test_a_missing_database_is_reported(postgres_server: Postgres) -> None:
    """L1: A wrong database name is an error that the caller can fix."""
    with pytest.raises(Invalid, match="nowhere") as caught:
        await open_backend(postgres_server.url("nowhere"))
    assert caught.value.code == "database_url"


async def test_the_test_server_ends_with_the_process_that_started_it() -> None:
    """L1b: A killed test run leaves no PostgreSQL and no files behind."""
    program = "from tests.support.postgres import Postgres; print(Postgres.start().url(), flush=True); input()"
    async with running(sys.executable, "-c", program) as (_, output):
        folder = Path((await output.readline()).decode().strip().partition("host=")[2])
        server = psutil.Process(int((folder / "data" / "postmaster.pid").read_text().split()[0]))
    await eventually(lambda: not server.is_running() and not folder.exists())
