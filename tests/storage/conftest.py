"""Fixtures with the backends that every contract test runs on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.storage import migrate
from bough.storage.backend import Backend
from bough.storage.open import open_backend

MIGRATIONS = Path(__file__).with_name("migrations")


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
