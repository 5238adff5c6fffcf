"""Runs a `bough` that crashes where a kill from outside rarely hits: inside a transaction, between its commit and the
response, or right before it answers an agent's request. Its database may also fail at random, and its clock be wrong.
Its keepers may crash while they write to their journals (`torn_keeper`)."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from datetime import timedelta, tzinfo
from types import SimpleNamespace
from typing import Any, TypeVar

from bough.agents.acp.connection import AgentConnection
from bough.agents.keeper_client import start_keeper
from bough.main import main
from bough.model.values import times
from bough.storage.backend import Backend, Tx
from bough.storage.postgres import PostgresBackend
from bough.storage.queries import Query
from bough.storage.sqlite import SqliteBackend
from tests.support.faults.database_faults import Storm, storming
from tests.support.faults.disk_faults import LIBRARY, VARIABLES

CRASH = "CRASH"
"""Where to die: `inside:37` before the commit of the 37th transaction, `after:37` after it, `inside:add_callback` and
`after:add_callback` at the first transaction that ran a query of this name, `reply:2` before the 2nd answer to an agent
is written; empty for nowhere."""

FAULTS = "FAULTS"
"""How often the database fails, as `SEED:RATE`: 7:0.02 fails two in a hundred transactions; empty for never."""
TORN_KEEPERS = "TORN_KEEPERS"
"""Not empty if the keepers crash at random, too."""
CLOCK = "CLOCK"
"""The number of seconds by which this server's clock is ahead of the real one; negative if it is behind."""

Work = Callable[[Tx], Awaitable[Any]]
T = TypeVar("T")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class WatchingTx:
    """A transaction that records which queries it ran."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.ran: set[str] = set()

    async def all(self, query: Query, type: type[T], /, **params: Any) -> list[T]:
        self.ran.add(query.name)
        return await self._tx.all(query, type, **params)

    async def one(self, query: Query, type: type[T], /, **params: Any) -> T | None:
        self.ran.add(query.name)
        return await self._tx.one(query, type, **params)

    async def value(self, query: Query, /, **params: Any) -> Any | None:
        self.ran.add(query.name)
        return await self._tx.value(query, **params)

    async def run(self, query: Query, /, **params: Any) -> int:
        self.ran.add(query.name)
        return await self._tx.run(query, **params)

    def notify(self, channel: str, payload: str) -> None:
        self._tx.notify(channel, payload)


def crash_in(backend: type[Backend], where: str, moment: str) -> None:
    """Makes the process die at one transaction of this database: the one with this number, or the first with this
    query."""
    original: Callable[[Any, Work], Awaitable[Any]] = backend.transaction
    count = itertools.count(1)

    async def transaction(self: Any, work: Work) -> Any:
        mine = str(next(count))
        hit = False

        async def work_and_die(tx: Tx) -> Any:
            nonlocal hit
            watched = WatchingTx(tx)
            result = await work(watched)
            hit = moment == mine or moment in watched.ran
            if hit and where == "inside":
                die()
            return result

        result = await original(self, work_and_die)
        if hit and where == "after":
            die()
        return result

    backend.transaction = transaction


def crash_before_reply(number: int) -> None:
    """Makes the process die when it is about to answer its agents' requests for the `number`th time."""
    original = AgentConnection.reply
    count = itertools.count(1)

    async def reply(self: AgentConnection, *arguments: Any, **options: Any) -> None:
        if next(count) == number:
            die()
        await original(self, *arguments, **options)

    AgentConnection.reply = reply


def shift_clock(seconds: float) -> None:
    """Makes the clock of this process wrong."""
    real = times.datetime

    class Shifted(real):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return real.now(tz) + timedelta(seconds=seconds)

    times.datetime = Shifted


def put_keepers_on_faulty_disk() -> None:
    """Gives the keepers, too, the disk of this process (`disk_faults`)."""

    def start(*arguments: Any, env: dict[str, str], **options: Any) -> Any:
        disk = {name: os.environ[name] for name in VARIABLES}
        return subprocess.Popen(*arguments, env=env | disk, **options)

    start_keeper.subprocess = SimpleNamespace(Popen=start, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)


def run() -> None:
    """Runs `bough` with the faults that the environment asks for."""
    if LIBRARY in os.environ:
        put_keepers_on_faulty_disk()
    shift_clock(float(os.environ.get(CLOCK) or 0))
    if FAULTS in os.environ:
        seed, _, rate = os.environ[FAULTS].partition(":")
        storm = Storm(int(seed), float(rate))
        for faulty in (SqliteBackend, PostgresBackend):
            storming(faulty, storm)
    where, _, number = os.environ.get(CRASH, "").partition(":")
    if where == "reply":
        crash_before_reply(int(number))
    if os.environ.get(TORN_KEEPERS):
        start_keeper.PROGRAM = "tests.support.faults.torn_keeper"
    if where in ("inside", "after"):
        for backend in (SqliteBackend, PostgresBackend):
            crash_in(backend, where, number)
    main()


if __name__ == "__main__":
    run()
