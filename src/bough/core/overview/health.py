"""Checks whether the server can do its work: the database stores, and the data folder takes what agents need (O2)."""

from __future__ import annotations

import asyncio
import time

from bough.agents.keeper_client.disk_check import disk_trouble
from bough.core.store.transactions import Store
from bough.errors import Unavailable
from bough.settings import Settings

# Anybody may ask for the health, so that the disk is not written for each request.
REMEMBERED = 1.0


class HealthCheck:
    """Checks the database and the disk."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._data = settings.data_path
        self._trouble: OSError | None = None
        self._looked_at: float | None = None

    async def check(self) -> None:
        """Raises `Unavailable` if the database cannot store, or no agent can start because of the disk."""
        await self._store.ping()
        if self._looked_at is None or time.monotonic() - self._looked_at >= REMEMBERED:
            self._looked_at = time.monotonic()
            self._trouble = await asyncio.to_thread(disk_trouble, self._data)
        if self._trouble is not None:
            raise Unavailable(
                "data_folder_failing",
                f"The data folder cannot be written ({self._trouble.strerror}), so no agent can start. Prompts wait "
                "until it can.",
            )
