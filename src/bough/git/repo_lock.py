"""Serializes work in a repository: git races when it adds worktrees or writes its configuration, and other processes
may use the same repository."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator
from weakref import WeakValueDictionary

from bough.errors import Busy, Conflict

# Checking out a very large repository takes minutes, and several may be waiting.
WITHIN = 600.0
# How often to check whether another process released the lock; within this process it is known at once.
PAUSE = 0.02
FILE = "bough.lock"

_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


@contextlib.asynccontextmanager
async def alone(common: str, within: float = WITHIN) -> AsyncGenerator[int]:
    """Locks the repository with this common folder and yields the open lock file. A git process that inherits it keeps
    the lock until it exits, even if we are killed; processes that it leaves behind do not, once we are done."""
    path = os.path.join(common, FILE)
    lock = _locks.setdefault(f"{id(asyncio.get_running_loop())} {path}", asyncio.Lock())
    try:
        async with asyncio.timeout(within):
            await lock.acquire()
    except TimeoutError:
        raise _busy(common, within) from None
    try:
        handle = _opened(path)
        try:
            deadline = asyncio.get_running_loop().time() + within
            # Another process does not tell us when it releases the lock.
            while not taken(handle):
                if asyncio.get_running_loop().time() > deadline:
                    raise _busy(common, within)
                await asyncio.sleep(PAUSE)
            try:
                yield handle
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)
        finally:
            os.close(handle)
    finally:
        lock.release()


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Conflict("git_failed", f"The lock file {path} cannot be opened: {error.strerror}.") from error


def _busy(common: str, within: float) -> Busy:
    return Busy("repo_busy", f"Something else has worked on the repository at {common} for {within:.0f} s.")


def taken(handle: int) -> bool:
    """Takes the lock if it is free."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
