"""The small files in a keeper's folder, and what becomes of a write when the disk is full.
It leaves the journal to `journal`, and what the files say to others."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

KEEPER, START, EXIT, SOCKET = "keeper.json", "start.json", "exit.json", "socket"
MARK = "BOUGH_KEEPER"
"""Variable in the agent's environment by which all that it starts can be found, should its keeper be dead."""
START_LIMIT = 10.0
"""Seconds after which a start that was asked for is no longer made: nobody waits for it, or knows of it."""
DISK_RETRY = 1.0
"""Seconds between attempts to write to a disk that was full."""


class Disk:
    """Runs what writes, in order; what cannot be written is said once and tried again until it can."""

    def __init__(self, note: Callable[[str, str], None]) -> None:
        self._note = note
        self._waiting: list[Callable[[], object]] = []
        self._tried = 0.0
        self.trouble = ""

    def run(self, action: Callable[[], object], again: Callable[[], object] | None = None) -> None:
        """Runs the action now, or when the ones before it have been run; `again` is what a second attempt runs."""
        if not self._waiting:
            try:
                action()
                return
            except OSError as error:
                self.trouble = f"The journal cannot be written ({error.strerror}): the agent waits until it can."
                self._tried = time.monotonic()
                self._note("disk_full", self.trouble)
        self._waiting.append(again or action)

    def patience(self, now: float) -> float:
        """Seconds until `retry` has something to do; only while there is trouble."""
        return self._tried + DISK_RETRY - now

    def retry(self, now: float) -> None:
        """Runs what waits, if it is time."""
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
    """Writes a file that is there whole or not at all, and for our own user alone."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name + ".new", flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(json.dumps(content).encode())
    os.rename(name + ".new", name, src_dir_fd=folder, dst_dir_fd=folder)


def read_start(folder: int) -> dict[str, Any]:
    """Reads what is to be started, which holds secrets and is deleted at once; nothing is started late."""
    with open(os.open(START, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        start = json.load(file)
    os.unlink(START, dir_fd=folder)
    if age > START_LIMIT:
        raise TimeoutError(f"this start was asked for {age:.0f} s ago")
    return start
