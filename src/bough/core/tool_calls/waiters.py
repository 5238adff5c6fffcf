"""Who waits for which call at this moment: by that the same words said twice on purpose are told from a call that comes
again because its answer was lost. Kept in memory only, since after a restart nobody waits; the calls are `calls`."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator


class Attendance:
    """Counts those who wait for each call. Transactions ask it, in whatever thread they run."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()
        # Calls that came again, and for which of those that are made now.
        self._joining: dict[str, str] = {}

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._waiting

    @contextlib.contextmanager
    def during(self, call_id: str) -> Generator[None]:
        """Somebody waits for the end of a call."""
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

    def join(self, call_id: str, by: str) -> bool:
        """Whether a call that nobody waits for is taken up by one that is made now: no other may take it as well."""
        return call_id not in self._waiting and self._joining.setdefault(call_id, by) == by

    def settled(self, by: str) -> None:
        """It is known which call was taken up; a transaction that is run again may have chosen another before."""
        for call_id in [one for one, taker in list(self._joining.items()) if taker == by]:
            self._joining.pop(call_id, None)


class Waiter:
    """One request of a client, and the calls whose outcomes it is being sent: until it is over somebody waits for
    them, also when they have ended, since the client may say the same again as soon as it has read the answer."""

    def __init__(self, attendance: Attendance) -> None:
        self._attendance = attendance
        self._over = False
        self.calls: list[str] = []

    def hold(self, call_id: str) -> None:
        if not self._over:
            self._attendance.add(call_id)
            self.calls.append(call_id)

    def close(self) -> None:
        if not self._over:
            self._over = True
            for call_id in self.calls:
                self._attendance.remove(call_id)
