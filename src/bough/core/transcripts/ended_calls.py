"""Recognizes that a turn repeats the same tool calls with the same arguments."""

from __future__ import annotations

import hashlib
from collections import deque

import msgspec

from bough.core.transcripts.growing_message import ENDED_TOOL, GrowingMessage

# A loop may consist of up to this many calls in turn.
LONGEST_ROUND = 3
# More calls than this are not remembered.
MOST_CALLS = 3000


class EndedCalls:
    """The latest tool calls of a turn that have ended, in the order of their ends."""

    def __init__(self) -> None:
        self._calls: deque[bytes] = deque(maxlen=MOST_CALLS)
        self._counted: set[str] = set()

    def observe(self, entry: GrowingMessage) -> None:
        """Adds a call once it has ended. What comes later about it changes nothing."""
        if entry.id in self._counted or entry.body["result"].get("status") not in ENDED_TOOL:
            return
        self._counted.add(entry.id)
        body = entry.body
        # Titles may tell results, so they count only for calls without arguments.
        subject = body["args"] or body.get("firstTitle") or body.get("title")
        encoded = msgspec.json.encode((body["tool"], subject), order="deterministic")
        self._calls.append(hashlib.blake2b(encoded, digest_size=16).digest())

    def clear(self) -> None:
        """Forgets all calls so far."""
        self._calls.clear()

    def loops(self, times: int) -> bool:
        """Tells whether the latest calls are `times` repetitions of one call, or of a few in turn."""
        calls = list(self._calls)
        return times > 1 and any(_repeats(calls, length, times) for length in range(1, LONGEST_ROUND + 1))


def _repeats(calls: list[bytes], length: int, times: int) -> bool:
    latest = calls[-length * times :]
    return len(latest) == length * times and latest[length:] == latest[:-length]
