"""Knows which calls somebody waits for at this moment. That tells an intended repeat of a call from one that is made
again because its answer was lost. Kept in memory, since nobody waits after a restart."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Generator
from weakref import WeakValueDictionary


class WaitCounts:
    """Counts who waits for each call. Transactions read it, in whatever thread they run; only the event loop writes."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._waiting

    @contextlib.contextmanager
    def during(self, call_id: str) -> Generator[None]:
        """Counts a waiter for a call while the block runs."""
        self.add(call_id)
        try:
            yield
        finally:
            self.remove(call_id)

    def add(self, call_id: str) -> None:
        self._waiting[call_id] += 1

    def remove(self, call_id: str) -> None:
        self._waiting[call_id] -= 1
        if not self._waiting[call_id]:
            del self._waiting[call_id]

    def turn(self, fingerprint: str) -> asyncio.Lock:
        """Returns the lock under which calls with the same words begin one after another: each knows by then whether
        somebody waits for the one before it. The lock is gone when nobody holds it."""
        return self._turns.setdefault(fingerprint, asyncio.Lock())


class Waiter:
    """One request of a client and the calls whose outcomes it is being sent.

    Somebody waits for these calls until the request is over, even if they have ended: the client may make the same call
    again as soon as it has read the answer.
    """

    def __init__(self, wait_counts: WaitCounts) -> None:
        self._wait_counts = wait_counts
        self._over = False
        self.calls: list[str] = []

    def hold(self, call_id: str) -> None:
        """Counts the request as waiting for a call."""
        if not self._over:
            self._wait_counts.add(call_id)
            self.calls.append(call_id)

    def close(self) -> None:
        """Ends the request."""
        if not self._over:
            self._over = True
            for call_id in self.calls:
                self._wait_counts.remove(call_id)
