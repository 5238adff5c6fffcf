"""Defines a page of a list and the limits that every list enforces, and reads pages."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from bough.errors import Invalid
from bough.storage.backend import Tx
from bough.storage.queries import Query

T = TypeVar("T")

DEFAULT_LIMIT = 20
LARGEST_LIMIT = 500
# Both databases store 64-bit integers.
LARGEST_OFFSET = 1 << 40


class Page(msgspec.Struct, Generic[T]):
    """Holds one page of rows and the total number of rows."""

    rows: list[T]
    total: int
    limit: int
    offset: int


async def read_page(
    tx: Tx, page: Query, count: Query, type: type[T], limit: int, offset: int, **params: Any
) -> Page[T]:
    """Returns one page of rows with the number of all, by two queries that take the same parameters."""
    rows = await tx.all(page, type, limit=limit, offset=offset, **params)
    return Page(rows, await tx.value(count, **params) or 0, limit, offset)


def checked_limit(limit: int, largest: int = LARGEST_LIMIT) -> int:
    if not 1 <= limit <= largest:
        raise Invalid("bad_limit", f"limit must be between 1 and {largest}.")
    return limit


def checked_offset(offset: int) -> int:
    if not 0 <= offset <= LARGEST_OFFSET:
        raise Invalid("bad_offset", f"offset must be between 0 and {LARGEST_OFFSET}.")
    return offset
