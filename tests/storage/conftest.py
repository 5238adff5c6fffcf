"""Owns the backends that every contract test runs on. What the contract is, is left to the tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from bough.storage import migrate
from bough.storage.backend import Backend
from bough.storage.open import open_backend

MIGRATIONS = Path(__file__).with_name("migrations")
# Anything that should happen in these tests happens in milliseconds.
PATIENCE_SECONDS = 10.0


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
