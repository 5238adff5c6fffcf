"""Runs queries on one PostgreSQL connection and translates PostgreSQL's errors."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import asyncpg

from bough.errors import BoughError, Conflict, Internal, Invalid, Unavailable
from bough.storage.backend import TxState
from bough.storage.queries import Query, Statement

T = TypeVar("T")

# Longer than a slow network needs, short enough to report that nobody answers.
CONNECT_TIMEOUT_SECONDS = 10.0
# A host that disappears without a word leaves its queries unanswered. No short query takes this long.
QUERY_TIMEOUT_SECONDS = 10.0
LONG_QUERY_TIMEOUT_SECONDS = 120.0
# A machine that lost power is noticed within half a minute, and its locks are freed.
_KEEPALIVE = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "4"}
SETTINGS = {"application_name": "bough", **_KEEPALIVE}

_PG: Any = asyncpg  # asyncpg carries no types
# asyncpg raises the last one between the server's goodbye and the end of the socket.
_LOST: tuple[type[Exception], ...] = (
    OSError,
    _PG.PostgresConnectionError,
    _PG.InterfaceError,
    _PG.InternalClientError,
)
DRIVER_ERRORS: tuple[type[Exception], ...] = (*_LOST, _PG.PostgresError)

_CONSTRAINTS = {"23505": "unique", "23503": "foreign_key", "23514": "check", "23502": "not_null"}
# Serialization failure, deadlock.
_CONTENDED = {"40001", "40P01"}
# The server is shutting down, has crashed, is not up yet, has no free connection, or closed one whose transaction was
# idle or took too long.
_AWAY = {"57P01", "57P02", "57P03", "53300", "25P03", "25P04"}
# The database is read-only (a stand-by, a full disk), a statement was cancelled, a lock was not to be had in time, data
# is damaged. The classes 53 and 58 are missing resources and failures of the operating system.
_FAILING = {"25006", "57014", "55P03", "XX001", "XX002"}


class TryAgain(Exception):
    """The transaction did not happen and may run again, after a lost race or (`lost`) connection."""

    def __init__(self, message: str, *, lost: bool) -> None:
        super().__init__(message)
        self.lost = lost

    def given_up(self) -> Unavailable:
        if self.lost:
            return Unavailable("database_unreachable", f"PostgreSQL cannot be reached: {self}.")
        return Unavailable("database_busy", f"Conflicting changes kept this one from committing: {self}.")


def translate(error: Exception) -> BoughError | TryAgain:
    state = str(getattr(error, "sqlstate", "") or "")
    if isinstance(error, _PG.DataError) or state == "22P02":
        return Internal("query_parameters", f"A parameter does not fit its column: {error}")
    if isinstance(error, _PG.InvalidCachedStatementError) or state in _CONTENDED:
        return TryAgain(str(error), lost=False)
    if isinstance(error, _LOST) or state in _AWAY or state.startswith("08"):
        return TryAgain(str(error) or type(error).__name__, lost=True)
    if state.startswith("28") or state == "3D000":
        return Invalid("database_url", f"PostgreSQL refuses the connection: {error}.")
    if state.startswith("23"):
        return Conflict(f"constraint_{_CONSTRAINTS.get(state, 'other')}", str(error))
    if state == "53100":
        return Unavailable("disk_full", "The disk of the database is full.")
    if state in _FAILING or state.startswith(("53", "58")):
        return Unavailable("database_unavailable", f"PostgreSQL cannot store or read this: {error}.")
    return Internal("database_error", f"{type(error).__name__} {state}: {error}")


@contextmanager
def named_errors() -> Generator[None]:
    """Raises the driver's errors as ours."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translate(error) from error


async def connect(url: str) -> Any:
    """Opens a separate connection for what must outlive a transaction. Refusals raise `TryAgain`."""
    with named_errors():
        return await _PG.connect(
            url, timeout=CONNECT_TIMEOUT_SECONDS, command_timeout=QUERY_TIMEOUT_SECONDS, server_settings=SETTINGS
        )


async def set_up(connection: Any) -> None:
    """Makes `SUM` of integers an integer, as in SQLite."""
    await connection.set_type_codec("numeric", schema="pg_catalog", encoder=str, decoder=_number, format="text")


async def leave_as_is(connection: Any) -> None:
    """Resets nothing: our transactions leave nothing behind, and a reset would cost a round trip."""


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


class PostgresTx(TxState):
    """A `Tx` on a connection whose transaction `postgres` begins and ends."""

    __slots__ = ("_connection", "_reading", "_timeout")

    def __init__(self, connection: Any, timeout: float, *, reading: bool) -> None:
        super().__init__()
        self._connection = connection
        self._timeout = timeout
        self._reading = reading

    async def all(self, query: Query, type: type[T], /, **params: Any) -> list[T]:
        statement, records = await self._fetch(query, params)
        return statement.mapper(type, records[0].keys)(records) if records else []

    async def one(self, query: Query, type: type[T], /, **params: Any) -> T | None:
        statement, records = await self._fetch(query, params)
        return statement.mapper(type, records[0].keys)(records[:1])[0] if records else None

    async def value(self, query: Query, /, **params: Any) -> Any | None:
        _, records = await self._fetch(query, params)
        return records[0][0] if records else None

    async def run(self, query: Query, /, **params: Any) -> int:
        statement, values = self._bind(query, params)
        status: str = await self._ask("execute", statement.sql, *values)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdecimal() else 0

    async def send_notifications(self, channel: str) -> int | None:
        """Queues the collected notifications on the channel that all backends hear; the commit sends them. Returns the
        transaction's number, by which a commit without a reply is looked up; None if nothing was written."""
        payloads = [f"{name}\n{payload}" for name, payload in self.notifications]
        if payloads:
            sql = "SELECT txid_current(), pg_notify($1, payload) FROM unnest($2::text[]) AS payload"
            rows = await self._ask("fetch", sql, channel, payloads)
        else:
            rows = await self._ask("fetch", "SELECT txid_current_if_assigned()")
        return rows[0][0]

    def _bind(self, query: Query, params: dict[str, Any]) -> tuple[Statement, list[Any]]:
        self.refuse_if_failed()
        return query.bind("postgres", params)

    async def _fetch(self, query: Query, params: dict[str, Any]) -> tuple[Statement, list[Any]]:
        statement, values = self._bind(query, params)
        return statement, await self._ask("fetch", statement.sql, *values)

    async def _ask(self, method: str, *arguments: Any) -> Any:
        try:
            with named_errors():
                # By name, because a lost connection raises at the call and not only when awaited.
                return await getattr(self._connection, method)(*arguments, timeout=self._timeout)
        except (BoughError, TryAgain, asyncio.CancelledError) as error:
            self.failure = error
            if self._reading and isinstance(error.__cause__, _PG.ReadOnlySQLTransactionError):
                self.failure = Internal("read_writes", "A read tried to write.")
                raise self.failure from error
            raise
