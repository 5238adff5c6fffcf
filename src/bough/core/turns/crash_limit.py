"""Decides when an agent has died too often for its session to continue (T3)."""

from __future__ import annotations

import time
from collections import deque

# An agent that dies `max_deaths` times within this many seconds fails its session.
DEATHS_WITHIN = 300.0


class CrashLimit:
    """Counts the recent deaths of each session's agent. Kept in memory, so a restart of the server forgives."""

    def __init__(self, max_deaths: int) -> None:
        self._max_deaths = max_deaths
        self._deaths: dict[str, deque[float]] = {}

    def reached(self, session_id: str) -> bool:
        """Counts one more death and tells whether the session's agent has now died too often."""
        now = time.monotonic()
        # Deaths that are too old to count are forgotten, whatever became of their sessions.
        self._deaths = {known: times for known, times in self._deaths.items() if now - times[-1] < DEATHS_WITHIN}
        deaths = self._deaths.setdefault(session_id, deque(maxlen=self._max_deaths))
        deaths.append(now)
        return len(deaths) == self._max_deaths and deaths[-1] - deaths[0] < DEATHS_WITHIN

    def forget(self, session_id: str) -> None:
        """Forgets the deaths of a session that has ended."""
        self._deaths.pop(session_id, None)
