"""Defines what Bough asks of a database, and the parts that both backends share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bough.errors import Internal, Invalid
from bough.storage.queries import Query

T = TypeVar("T")

# PostgreSQL limits a notification to 8,000 bytes, which include the channel.
NOTIFICATION_MAX_BYTES = 7_900


class Tx(Protocol):
    """One transaction, or one consistent view for reading. A failed statement fails the whole transaction."""

    async def all(self, query: Query, type: type[T], /, **params: Any) -> list[T]:
        """Returns every row as `type`: a struct filled by column name, or a tuple."""
        ...

    async def one(self, query: Query, type: type[T], /, **params: Any) -> T | None:
        """Returns the first row as `type`, or None."""
        ...

    async def value(self, query: Query, /, **params: Any) -> Any | None:
        """Returns the first column of the first row (JSON as text, a boolean perhaps as 0 or 1), or None."""
        ...

    async def run(self, query: Query, /, **params: Any) -> int:
        """Runs a statement and returns how many rows it changed."""
        ...

    def notify(self, channel: str, payload: str) -> None:
        """Notifies the channel's listeners after commit; identical notifications of one transaction are sent once."""
        ...


class Backend(Protocol):
    """A database. A `work` may await only the methods of its `Tx` and may run more than once."""

    dialect: str

    async def transaction(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Runs `work` as if no other transaction ran at the same time, and returns after commit."""
        ...

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        """Runs `work` on one consistent view of everything committed before. Writing is an error.

        `long` keeps reads of more than about a millisecond off the event loop."""
        ...

    async def check(self) -> None:
        """Raises `Unavailable` if what is written now would not be stored."""
        ...

    def state(self) -> int | None:
        """Returns a number that changes with every commit of any process; None where that would cost a query.

        What was read after one call is still current if the next call returns the same number."""
        ...

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        """Calls back on the event loop with each payload; "" means that some may be lost and the caller should
        scan.

        Returns a function that ends the subscription."""
        ...

    def own(self, name: str) -> AbstractAsyncContextManager[None]:
        """Makes this process the only one with this name, or raises `Busy`. The holder's death frees the name."""
        ...

    async def keep_copy(self, label: str) -> Path | None:
        """Copies the database before an irreversible change and returns the path; None where the backend does not."""
        ...

    def hurry(self) -> None:
        """Makes everything give up as soon as the database does not answer, because the server stops."""
        ...

    async def close(self) -> None:
        """Finishes what was started and releases everything."""
        ...


class TxState:
    """Collects a transaction's notifications, and the failure that dooms it."""

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
        """Raises after a failed statement: PostgreSQL would answer COMMIT with a silent rollback."""
        if self.failure is not None:
            raise self.failure


class Listeners:
    """The listeners of this process, by channel."""

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
        """Calls every listener. One that raises is reported to the loop, and the others are still called."""
        for callback in tuple(self._callbacks.get(channel, {}).values()):
            try:
                callback(payload)
            except Exception as error:
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"A listener of {channel} failed.", "exception": error}
                )

    def scan_again(self) -> None:
        """Tells every listener that notifications may have been lost."""
        for channel in tuple(self._callbacks):
            self.deliver(channel, "")
