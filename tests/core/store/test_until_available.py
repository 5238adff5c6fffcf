"""Q4: Tests how long Bough waits for a database that fails: while it works, until it answers; while it starts or stops,
not for long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.store import transactions
from bough.core.store.sql import COMMON, SESSIONS
from bough.core.store.transactions import Store
from bough.core.store.until_available import until_available
from bough.core.trees.requests import NewBranch
from bough.errors import Unavailable
from bough.model.session import Caller
from bough.storage.open import open_backend
from tests.core.helpers import open_session
from tests.support.faults.database_faults import break_at, failing
from tests.support.server import serving

# Much longer than a stop takes on a busy machine, and shorter than one withdrawal used to wait for its database.
STOP_WITHIN = 20.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    db = await open_backend(f"sqlite://{tmp_path}/bough.db")
    yield Store(db)
    await db.close()


async def _ping(store: Store) -> None:
    await until_available(lambda: store.write(lambda change: change.tx.value(COMMON.ping)), "a test")


async def test_a_working_server_waits_for_its_database(store: Store) -> None:
    """Q4: What must be stored or read is tried until it succeeds."""
    with failing(store.db, "transaction", COMMON.ping, 3, "full"):
        await _ping(store)


async def test_a_start_gives_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q4: A start on a full disk fails with the reason instead of waiting for ever before it listens, although what is
    stored can be read."""
    monkeypatch.setattr(transactions, "START_WITHIN", 0.05)
    with failing(store.db, "transaction", COMMON.ping, 1000, "full") as failures, store.starting():
        work = asyncio.create_task(_ping(store))
        while not work.done():
            await store.read(lambda tx: tx.value(COMMON.ping))
            await asyncio.sleep(0)
        failures.left = 0
    with pytest.raises(Unavailable, match="full"):
        await work
    with failing(store.db, "transaction", COMMON.ping, 3, "full"):
        await _ping(store)


async def test_a_failing_database_does_not_delay_the_end(tmp_path: Path) -> None:
    """O2: A server that stops does not wait for a database that answers with errors; the next start undoes the rest."""
    async with serving(tmp_path) as server:
        services = server.services
        root = await open_session(server)
        await server.client.ask(root, "[[say heron]]")
        broken = break_at(services.store.db, SESSIONS.add)
        forking = asyncio.create_task(services.branches.fork(Caller(), root, NewBranch(worktree="new")))
        await broken.wait()
        began = time.monotonic()
    assert time.monotonic() - began < STOP_WITHIN
    with pytest.raises(Unavailable):
        await forking
    async with serving(tmp_path) as server:
        assert (await server.client.get("/api/worktrees"))["worktrees"] == []
        assert not [path for path in server.root.rglob(".worktrees/*") if path.is_dir()]
