"""Notices that an agent has been silent for long in a running turn, so that a person who follows it is told."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from bough.api.cli.framework.client import Json, part

SILENT_AFTER = 15.0
"""Seconds without a word after which an agent is called silent. The page uses the same number."""
SETTLED = ("completed", "failed")


def silence(messages: list[Json]) -> str | None:
    """Returns the sentence about a running turn whose agent is silent, judged by the last message; otherwise None."""
    last = max(messages, key=lambda message: message["updatedAt"], default=None)
    if last is None or any(_is_open_tool(message) for message in messages if message["taskId"] == last["taskId"]):
        return None
    seconds = (datetime.now(UTC) - datetime.fromisoformat(last["updatedAt"])).total_seconds()
    return _sentence(seconds) if seconds >= SILENT_AFTER else None


def _sentence(seconds: float) -> str:
    since = time.strftime("%H:%M:%S", time.localtime(time.time() - seconds))
    return f"The agent has been silent since {since} ({seconds:.0f} s)."


def _is_open_tool(message: Json) -> bool:
    content = part(message, "content")
    return content.get("type") == "tool" and part(content, "result").get("status") not in SETTLED


class SilenceWatch:
    """Follows the events of one session. An agent is silent if its turn runs, no tool call is under way, and nothing
    has come from it for a while."""

    def __init__(self) -> None:
        self._running: set[str] = set()
        self._tools: set[str] = set()
        self._heard_at = time.monotonic()
        self._told = False

    def take(self, event: Json) -> None:
        """Takes an event; messages and changes of the turn are signs of life."""
        kind, data = str(event["type"]), part(event, "data")
        if kind.startswith("task."):
            self._task(data)
        elif kind.startswith("message."):
            self._message(data)
        elif not kind.startswith("approval."):
            return
        self._heard_at, self._told = time.monotonic(), False

    def left(self) -> float | None:
        """Returns the seconds until the agent counts as silent; None if it does not matter now."""
        if self._told or self._tools or not self._running:
            return None
        return max(0.0, self._heard_at + SILENT_AFTER - time.monotonic())

    def notice(self) -> str | None:
        """Returns the sentence about the silence, once for each."""
        if self.left() != 0.0:
            return None
        self._told = True
        return _sentence(time.monotonic() - self._heard_at)

    def _task(self, task: Json) -> None:
        if task.get("status") == "running":
            self._running.add(task["id"])
        elif task:
            self._running.discard(task["id"])
            self._tools.clear()

    def _message(self, message: Json) -> None:
        if _is_open_tool(message):
            self._tools.add(message["id"])
        elif message:
            self._tools.discard(message["id"])
