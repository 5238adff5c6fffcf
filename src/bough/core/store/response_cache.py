"""Whole answers as the JSON that goes out, given again for as long as nothing has been written to the database. What an
answer says is left to those who make it; it may depend on nothing but rows and its key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import msgspec

from bough.storage.backend import Backend

# Enough for the pages that are open at one moment; what is larger than this is made anew each time.
MOST_BYTES = 8 * 1024 * 1024

_encode = msgspec.json.Encoder().encode


class Answers:
    """Answers of one state of the database: the first look at the next state forgets them all."""

    def __init__(self, db: Backend) -> None:
        self._db = db
        self._state: int | None = None
        self._kept: dict[Hashable, bytes] = {}
        self._bytes = 0

    async def give(self, key: Hashable, make: Callable[[], Awaitable[Any]]) -> bytes:
        """The answer that was made for this key, or a new one. Where the state cannot be told, all are new."""
        # Looked at before the rows are: what is written in between makes the answer newer than its state, never older.
        state = self._db.state()
        if state != self._state:
            self._state, self._bytes = state, 0
            self._kept.clear()
        body = self._kept.get(key)
        if body is None:
            body = _encode(await make())
            if state is not None and state == self._state and self._bytes + len(body) <= MOST_BYTES:
                self._kept[key] = body
                self._bytes += len(body)
        return body
