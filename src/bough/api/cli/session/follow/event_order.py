"""Puts message events into the order of the transcript. The server stores several changes at once and announces new
messages before changed ones, so a message may arrive before the end of the tool call that precedes it."""

from __future__ import annotations

import time
from collections.abc import Callable

from bough.api.cli.framework.client import Json, part

# Seconds. Changes stored together arrive together; a tool call still running after this no longer holds others back.
GRACE = 0.2
SETTLED = ("completed", "failed")


class EventOrder:
    """Briefly holds back messages that follow a tool call whose end has not arrived yet."""

    def __init__(self, show: Callable[[Json], None], begun: Callable[[str], bool]) -> None:
        self._show = show
        # Returns whether a message is already on the screen.
        self._begun = begun
        self._held: list[Json] = []
        self._positions: dict[str, int] = {}
        # Tool calls that have not ended, and all tool calls seen so far.
        self._open: set[str] = set()
        self._tools: set[str] = set()
        self._until: float | None = None

    def take(self, event: Json) -> None:
        """Shows a message event, at once or after the ones before it."""
        data = part(event, "data")
        message_id: str = data["id"] if data else event["messageId"]
        if data:
            self._positions[message_id] = data["position"]
        if self._waits(message_id):
            self._held.append(event)
            self._until = self._until or time.monotonic() + GRACE
            return
        self._show(event)
        content = part(data, "content")
        if content.get("type") != "tool":
            return
        if part(content, "result").get("status") in SETTLED:
            self._tools.add(message_id)
            if message_id in self._open:
                self._open.remove(message_id)
                self._release()
        elif message_id not in self._tools:
            self._tools.add(message_id)
            self._open.add(message_id)

    def left(self) -> float | None:
        """Returns how many seconds the held events may still wait; None if none are held."""
        return max(0.0, self._until - time.monotonic()) if self._until is not None else None

    def let_go(self) -> None:
        """Shows all held events without waiting for their tool calls any longer."""
        if self._held:
            self._open.clear()
            self._release()

    def _waits(self, message_id: str) -> bool:
        if message_id not in self._tools and self._begun(message_id):
            return False
        position = self._positions.get(message_id)
        return any(position is None or self._positions[other] < position for other in self._open if other != message_id)

    def _release(self) -> None:
        held, self._held, self._until = self._held, [], None
        for event in held:
            self.take(event)
