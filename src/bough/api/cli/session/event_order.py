"""Brings what a follower is told into the order of the transcript: the server stores several changes at once and tells
of new entries before it tells of those that have changed. What is then shown is `follow`'s part."""

from __future__ import annotations

import time
from collections.abc import Callable

from bough.api.cli.framework.client import Json, part

# What is stored together arrives together; a tool call that is still at work after this may be overtaken.
GRACE = 0.2
SETTLED = ("completed", "failed")


class Order:
    """Holds back, for a moment, what comes after a tool call whose end is not known yet."""

    def __init__(self, show: Callable[[Json], None], begun: Callable[[str], bool]) -> None:
        self._show = show
        # Whether a message stands on the screen already.
        self._begun = begun
        self._held: list[Json] = []
        self._places: dict[str, int] = {}
        # Tool calls whose end is waited for, and all that ever were.
        self._open: set[str] = set()
        self._tools: set[str] = set()
        self._until: float | None = None

    def take(self, event: Json) -> None:
        """An event about a message: shown at once, or when those before it have been."""
        data = part(event, "data")
        known: str = data["id"] if data else event["messageId"]
        if data:
            self._places[known] = data["position"]
        if self._waits(known):
            self._held.append(event)
            self._until = self._until or time.monotonic() + GRACE
            return
        self._show(event)
        content = part(data, "content")
        if content.get("type") != "tool":
            return
        if part(content, "result").get("status") in SETTLED:
            self._tools.add(known)
            if known in self._open:
                self._open.remove(known)
                self._release()
        elif known not in self._tools:
            self._tools.add(known)
            self._open.add(known)

    def left(self) -> float | None:
        """How many seconds what is held may still wait; None if nothing is."""
        return max(0.0, self._until - time.monotonic()) if self._until is not None else None

    def let_go(self) -> None:
        """Shows what is held; the tool calls that it waited for come when they come."""
        if self._held:
            self._open.clear()
            self._release()

    def _waits(self, known: str) -> bool:
        if known not in self._tools and self._begun(known):
            return False
        place = self._places.get(known)
        return any(place is None or self._places[other] < place for other in self._open if other != known)

    def _release(self) -> None:
        held, self._held, self._until = self._held, [], None
        for event in held:
            self.take(event)
