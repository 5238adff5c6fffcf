"""Ends what tests started when their pytest process ends, also if that was killed and no fixture cleaned up, because
servers, keepers and agents outlive what started them. Runs beside each pytest process as a program of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

# In the environment of everything that a pytest process starts, except of agents, which get a selection.
MARK = "PYTEST_RUN_MARK"
# How often the processes are looked through until none is left: a killed one may just have started another.
QUIET_SCANS = 3
SCANS = 200
PAUSE = 0.1


@contextlib.contextmanager
def reaping(folder: Path, mark: str) -> Generator[None]:
    """Ends everything that has the mark, or works below the folder, at the end of the block or of this process."""
    reaper = subprocess.Popen(
        [sys.executable, "-E", "-S", __file__, str(folder), mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        # Not ended by what ends this process: Ctrl-C, or a kill of its group.
        start_new_session=True,
    )
    try:
        yield
    finally:
        assert reaper.stdin is not None
        reaper.stdin.close()
        reaper.wait()


def leftovers(folder: str, mark: str, spared: set[int]) -> list[int]:
    """Returns the processes that have the mark in their environment, or the folder in their command, environment or
    working directory."""
    inside = os.fsencode(folder) + b"/"
    marked = f"{MARK}={mark}".encode()
    pids: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in spared:
            continue
        try:
            environ = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            command = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            cwd = os.fsencode(os.readlink(f"/proc/{name}/cwd")) + b"/"
        except OSError:  # gone meanwhile, or somebody else's
            continue
        works_there = cwd.startswith(inside) or any(word.startswith(inside) for word in command)
        if marked in environ or works_there or any(b"=" + inside in variable for variable in environ):
            pids.append(int(name))
    return pids


def _family() -> set[int]:
    """Returns this process and those above it, which may have the folder among their arguments."""
    pids: set[int] = set()
    pid = os.getpid()
    while pid > 1:
        pids.add(pid)
        # The name before the parenthesis may contain anything.
        pid = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return pids


def main(folder: str, mark: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    spared = _family()
    sys.stdin.buffer.read()
    quiet = 0
    for _ in range(SCANS):
        pids = leftovers(folder, mark, spared)
        quiet = 0 if pids else quiet + 1
        if quiet == QUIET_SCANS:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:])
