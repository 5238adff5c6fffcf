"""Provides a database with a repository for the rules that are partly SQL."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.store.transactions import Store
from bough.storage import migrate
from bough.storage.open import open_backend
from tests.core.state.database_rows import StoredRows


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncGenerator[StoredRows]:
    backend = await open_backend(f"sqlite://{tmp_path}/bough.db")
    await migrate.upgrade(backend)
    yield await StoredRows.create(Store(backend))
    await backend.close()
