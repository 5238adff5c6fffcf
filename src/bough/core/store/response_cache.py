"""Caches whole JSON responses until something is written to the database. A response may depend only on rows and its
key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import msgspec

from bough.storage.backend import Backend

# Enough for all open pages; a response that does not fit is built every time.
MOST_BYTES = 8 * 1024 * 1024

_encode = msgspec.json.Encoder().encode


class ResponseCache:
    """Caches the responses of one database state and drops them all when the state changes."""

    def __init__(self, db: Backend) -> None:
        self._db = db
        self._state: int | None = None
        self._cached: dict[Hashable, bytes] = {}
        self._bytes = 0

    async def get(self, key: Hashable, make: Callable[[], Awaitable[Any]]) -> bytes:
        """Returns the cached response for `key`, or builds one. Nothing is cached where the database cannot tell its
        state."""
        # The state is read before the rows, so a response may be newer than its state but never older.
        state = self._db.state()
        if state != self._state:
            self._state, self._bytes = state, 0
            self._cached.clear()
        body = self._cached.get(key)
        if body is None:
            body = _encode(await make())
            if state is not None and state == self._state and self._bytes + len(body) <= MOST_BYTES:
                self._cached[key] = body
                self._bytes += len(body)
        return body
