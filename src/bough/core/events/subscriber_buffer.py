"""Decides which events one subscriber gets, by session and kind, and buffers them. A subscriber that is too slow is
dropped and told where to continue."""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

# A subscriber that falls this far behind is dropped and told its cursor, so memory stays bounded and nothing is lost.
MOST_BYTES_BEHIND = 8 * 1024 * 1024


class EventFrame(msgspec.Struct):
    """One outgoing event, encoded once and shared by all subscribers."""

    data: bytes
    kind: str
    session_id: str | None
    cursor: int | None


class Dropped(Exception):
    """Raised when a subscriber was too slow; it has received everything up to `cursor`."""

    def __init__(self, cursor: int) -> None:
        super().__init__(f"too slow; reconnect from {cursor}")
        self.cursor = cursor


class Subscription:
    """Buffers the frames that one subscriber has not been sent yet."""

    def __init__(self, session_id: str | None, kinds: frozenset[str] | None = None) -> None:
        self.session_id = session_id
        self._kinds = kinds
        self.cursor = 0
        self._frames: deque[EventFrame] = deque()
        self._bytes = 0
        self._overrun = False
        self._wake = asyncio.Event()

    def offer(self, frame: EventFrame) -> None:
        if self._overrun or (self.session_id is not None and frame.session_id != self.session_id):
            return
        if self._kinds is not None and frame.kind not in self._kinds:
            return
        self._bytes += len(frame.data)
        if self._bytes > MOST_BYTES_BEHIND:
            self._overrun = True
            self._frames.clear()
        else:
            self._frames.append(frame)
        self._wake.set()

    async def next(self) -> list[EventFrame]:
        """Waits for frames and returns all that are buffered. Raises `Dropped` if there were too many."""
        while not self._frames and not self._overrun:
            self._wake.clear()
            await self._wake.wait()
        if self._overrun:
            raise Dropped(self.cursor)
        frames = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        return frames

    def sent(self, frames: list[EventFrame]) -> None:
        """Records how far the subscriber got."""
        for frame in reversed(frames):
            if frame.cursor is not None:
                self.cursor = frame.cursor
                return
