"""A `bough` that dies by its own hand where a kill from outside hardly ever hits: in the middle of a transaction,
between its commit and its answer, or right before it answers an agent's question. Unless it is that last place, its
keepers die in the middle of writing to their journals (`torn_keeper`)."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from bough.agents.acp.connection import Connection
from bough.agents.keeper import start
from bough.main import main
from bough.storage.backend import Backend, Tx
from bough.storage.postgres import PostgresBackend
from bough.storage.sqlite import SqliteBackend

CRASH = "CRASH"
"""Where to die: `inside:37` before the commit of the 37th transaction, `after:37` after it, `reply:2` before the 2nd
answer to an agent is written; nothing: nowhere."""

Work = Callable[[Tx], Awaitable[Any]]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash_in(backend: type[Backend], where: str, number: int) -> None:
    """Has the process die at one transaction of this kind of database."""
    original: Callable[[Any, Work], Awaitable[Any]] = backend.transaction
    count = itertools.count(1)

    async def transaction(self: Any, work: Work) -> Any:
        mine = next(count)

        async def work_and_die(tx: Tx) -> Any:
            result = await work(tx)
            if mine == number and where == "inside":
                die()
            return result

        result = await original(self, work_and_die)
        if mine == number and where == "after":
            die()
        return result

    backend.transaction = transaction


def crash_before_reply(number: int) -> None:
    """Has the process die where it would answer its agents' questions for the `number`th time."""
    original = Connection.reply
    count = itertools.count(1)

    async def reply(self: Connection, *arguments: Any, **options: Any) -> None:
        if next(count) == number:
            die()
        await original(self, *arguments, **options)

    Connection.reply = reply


if __name__ == "__main__":
    where, _, number = os.environ.get(CRASH, "").partition(":")
    if where == "reply":
        crash_before_reply(int(number))
    else:
        start.PROGRAM = "bough.testing.torn_keeper"
    if where in ("inside", "after"):
        for backend in (SqliteBackend, PostgresBackend):
            crash_in(backend, where, int(number))
    main()
