"""One at a time in a repository: git itself races when it adds worktrees or writes its configuration, and other
processes may use the same repository. What is done under the lock is left to whoever takes it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator
from weakref import WeakValueDictionary

from bough.errors import Busy, Conflict

# The checkout of a very large repository takes minutes, and several may wait for theirs.
WITHIN = 600.0
# How soon another process is noticed to have let go; in this one it is known at once.
PAUSE = 0.02
FILE = "bough.lock"

_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


@contextlib.asynccontextmanager
async def alone(common: str, within: float = WITHIN) -> AsyncGenerator[int]:
    """Holds the repository whose common folder this is; gives the open lock file. A git that was handed it keeps the
    lock until it has ended, even if we are killed; what it leaves running does not, once we are done."""
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
            # Nobody tells us when another process lets go.
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
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Conflict("git_failed", f"The lock file {path} cannot be opened: {error.strerror}.") from error


def _busy(common: str, within: float) -> Busy:
    return Busy("repo_busy", f"Something else has worked on the repository at {common} for {within:.0f} s.")


def taken(handle: int) -> bool:
    """Takes the lock if nobody has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
