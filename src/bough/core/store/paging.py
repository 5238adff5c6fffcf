"""Defines a page of a list and the limits that every list enforces."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from bough.errors import Invalid

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


def checked_limit(limit: int, largest: int = LARGEST_LIMIT) -> int:
    if not 1 <= limit <= largest:
        raise Invalid("bad_limit", f"limit must be between 1 and {largest}.")
    return limit


def checked_offset(offset: int) -> int:
    if not 0 <= offset <= LARGEST_OFFSET:
        raise Invalid("bad_offset", f"offset must be between 0 and {LARGEST_OFFSET}.")
    return offset
