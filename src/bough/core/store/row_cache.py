"""Rows as the JSON that goes out, kept in memory and used again for as long as the row says that it is unchanged. Which
rows are wanted, and that `updated_at` moves with every change of one, is left to those who ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from bough.storage.backend import Tx
from bough.storage.queries import Query

# Enough for the transcripts that people and pages look at again and again; what is older is encoded anew.
MOST_BYTES = 32 * 1024 * 1024
# So many rows are fetched one by one; if more are missing, reading all of them costs less.
FEW = 8
MOST_ENDS = 10_000

Head = tuple[str, str]
# A query whose columns are still open.
Open = Callable[[str], Query]


class Row(Protocol):
    """A record that tells its versions apart."""

    id: str
    updated_at: str


T = TypeVar("T", bound=Row)


class Encoded(Generic[T]):
    """Encoded rows of one kind. A page costs a look at which rows it has, in which version; then what is not known."""

    def __init__(self, kind: type[T], get: Query) -> None:
        self._kind = kind
        self._get = get
        self._kept: dict[Head, msgspec.Raw] = {}
        self._bytes = 0
        # Ends of pages that were read once: encoding row by row pays when a page is read again.
        self._read_once: dict[Head, None] = {}

    async def page(self, tx: Tx, query: Open, **params: Any) -> list[T] | list[msgspec.Raw]:
        """The rows of a query, for the event loop's thread only."""
        heads: list[Head] = await tx.all(query("id, updated_at"), tuple, **params)
        kept = self._kept
        found: list[Any] = [kept.get(head) for head in heads]
        if None not in found:
            return found
        missing = [place for place, one in enumerate(found) if one is None]
        if len(missing) > FEW:
            rows = await tx.all(query("*"), self._kind, **params)
            return [self._keep(row) for row in rows] if self._was_read(heads[-1]) else rows
        for place in missing:
            row = await tx.one(self._get, self._kind, id=heads[place][0])
            assert row is not None
            found[place] = self._keep(row)
        return found

    def _was_read(self, end: Head) -> bool:
        if end in self._read_once:
            return True
        if len(self._read_once) >= MOST_ENDS:
            self._read_once.clear()
        self._read_once[end] = None
        return False

    def _keep(self, row: T) -> msgspec.Raw:
        encoded = msgspec.json.encode(row)
        raw = self._kept[row.id, row.updated_at] = msgspec.Raw(encoded)
        self._bytes += len(encoded)
        while self._bytes > MOST_BYTES:
            oldest = self._kept.pop(next(iter(self._kept)))
            self._bytes -= len(bytes(oldest))
        return raw
