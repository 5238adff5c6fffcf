"""Retries writes while the disk is full. The agent is paused until they succeed."""

import time
from collections.abc import Callable

DISK_RETRY = 1.0
"""Seconds between attempts to write to a disk that was full."""


class Disk:
    """Runs writes in order. A write that fails is reported once and retried until it succeeds."""

    def __init__(self, note: Callable[[str, str], None]) -> None:
        self._note = note
        self._waiting: list[Callable[[], object]] = []
        self._tried = 0.0
        self.trouble = ""

    def run(self, action: Callable[[], object], again: Callable[[], object] | None = None) -> None:
        """Runs the action now, or after those that wait. `again` is what a second attempt runs."""
        if not self._waiting:
            try:
                action()
                return
            except OSError as error:
                self.trouble = f"The journal cannot be written ({error.strerror}). The agent is paused until it can."
                self._tried = time.monotonic()
                self._note("disk_full", self.trouble)
        self._waiting.append(again or action)

    def patience(self, now: float) -> float:
        """Returns the seconds until `retry` has something to do; only meaningful while there is trouble."""
        return self._tried + DISK_RETRY - now

    def retry(self, now: float) -> None:
        """Runs the waiting writes, if a retry is due."""
        if not self._waiting or self.patience(now) > 0:
            return
        self._tried = now
        while self._waiting:
            try:
                self._waiting[0]()
            except OSError:
                return
            del self._waiting[0]
        self.trouble = ""
        self._note("disk_free", "The journal can be written again.")
