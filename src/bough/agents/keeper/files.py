"""Reads and writes the small files in a keeper's folder, and retries writes while the disk is full."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

KEEPER, START, EXIT, SOCKET = "keeper.json", "start.json", "exit.json", "socket"
MARK = "BOUGH_KEEPER"
"""The variable in the agent's environment by which its processes are found if the keeper is dead."""
START_LIMIT = 10.0
"""Seconds after which a requested start is no longer carried out, because no server waits for it any more."""
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


def write_json(folder: int, name: str, content: dict[str, Any]) -> None:
    """Writes a file atomically, readable only by its owner."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name + ".new", flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(json.dumps(content).encode())
    os.rename(name + ".new", name, src_dir_fd=folder, dst_dir_fd=folder)


def read_start(folder: int) -> dict[str, Any]:
    """Reads and deletes the file with the start, which holds secrets. Raises TimeoutError if it is too old."""
    with open(os.open(START, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        start = json.load(file)
    os.unlink(START, dir_fd=folder)
    if age > START_LIMIT:
        raise TimeoutError(f"this start was requested {age:.0f} s ago")
    return start
