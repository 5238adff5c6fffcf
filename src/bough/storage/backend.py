"""Owns what the rest of Bough may ask of a database, and the small parts that both backends share.

How each database does it is left to `sqlite` and `postgres`, and which one it is to `open`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bough.errors import Internal, Invalid
from bough.storage.queries import Query

T = TypeVar("T")

# PostgreSQL takes less than 8,000 bytes in one notification, and ours carry the channel too.
NOTIFICATION_MAX_BYTES = 7_900


class Tx(Protocol):
    """One transaction, or one consistent view for reading. When a statement fails, the whole of it fails."""

    async def all(self, query: Query, type: type[T], /, **params: Any) -> list[T]:
        """Return every row as `type`: a struct filled by column name, or a tuple."""
        ...

    async def one(self, query: Query, type: type[T], /, **params: Any) -> T | None:
        """Return the first row as `type`, or None."""
        ...

    async def value(self, query: Query, /, **params: Any) -> Any | None:
        """Return the first column of the first row (JSON as text, a boolean perhaps as 0 or 1), or None."""
        ...

    async def run(self, query: Query, /, **params: Any) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def notify(self, channel: str, payload: str) -> None:
        """Tell the channel's listeners after commit; equal ones in one transaction are told once."""
        ...


class Backend(Protocol):
    """A database. A `work` may await the methods of its `Tx` and nothing else, and may be run again."""

    dialect: str

    async def transaction(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Run `work` alone, as if no other transaction ran beside it, and return after commit."""
        ...

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        """Run `work` on one consistent view that holds all that was committed before; writing is an error.

        `long` keeps reads of more than about a millisecond off the event loop.
        """
        ...

    def state(self) -> int | None:
        """Return a number that is another one after every commit, of whichever process; None where that costs a query.

        What is read after one call is still true if the next call returns the same.
        """
        ...

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call back with each payload on the event loop; "" means that some may be lost: scan again.

        Returns what ends the subscription.
        """
        ...

    def own(self, name: str) -> AbstractAsyncContextManager[None]:
        """Be the only one of all processes with this name, else `Busy`; the holder's death frees it."""
        ...

    def slot(self, name: str, limit: int) -> AbstractAsyncContextManager[int]:
        """Hold one of `limit` places, waiting for a free one; gives its number."""
        ...

    async def keep_copy(self, label: str) -> Path | None:
        """Copy the database beside itself before a change for good, and say where; None where we do not."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of everything."""
        ...


class TxState:
    """What a transaction gathers besides its rows: notifications, and the failure that dooms it."""

    __slots__ = ("failure", "notifications")

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self.notifications: dict[tuple[str, str], None] = {}

    def notify(self, channel: str, payload: str) -> None:
        if len(channel.encode()) + len(payload.encode()) > NOTIFICATION_MAX_BYTES:
            raise Internal("notification_too_large", f"A notification on {channel} is over {NOTIFICATION_MAX_BYTES} B.")
        if "\0" in payload:
            raise Invalid("text_has_nul", "Text must not contain the NUL character (U+0000).")
        self.notifications[channel, payload] = None

    def refuse_if_failed(self) -> None:
        """PostgreSQL would answer COMMIT with a silent rollback here, so both backends say it aloud."""
        if self.failure is not None:
            raise self.failure


class Listeners:
    """Who listens to which channel in this process."""

    def __init__(self) -> None:
        self._callbacks: dict[str, dict[object, Callable[[str], None]]] = {}

    def add(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        key = object()
        self._callbacks.setdefault(channel, {})[key] = callback

        def unsubscribe() -> None:
            callbacks = self._callbacks.get(channel, {})
            callbacks.pop(key, None)
            if not callbacks:
                self._callbacks.pop(channel, None)

        return unsubscribe

    def deliver(self, channel: str, payload: str) -> None:
        """Call everyone; one that raises is reported to the loop, and the others still hear."""
        for callback in tuple(self._callbacks.get(channel, {}).values()):
            try:
                callback(payload)
            except Exception as error:
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"A listener of {channel} failed.", "exception": error}
                )

    def scan_again(self) -> None:
        """Tell everyone that notifications may have been lost."""
        for channel in tuple(self._callbacks):
            self.deliver(channel, "")
