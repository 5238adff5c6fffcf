"""`python -m tools.build_page SERVER_PID MAKE` builds the page beside a server that was started from a clone, and ends
when that server does. It holds a lock on a file by which the server knows that its page is being built, and leaves the
end of the output there if the build fails."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from bough.api.page.assets import build_note
from bough.api.page.routes import BUILT

# Seconds between two looks at the server and the build.
PAUSE = 0.2
# Characters of the output that people are shown on the page.
LONGEST_NOTE = 2000
FAILED = "The page could not be built; everything else works. To try again, run `make web`."
OLD_PAGE = "The page could not be built: this server has the one that was built before."


def main(server: int, make: str) -> int:
    """Builds the page while the server runs. Another build of this clone goes first."""
    note = build_note(BUILT)
    with note.open("a+", encoding="utf-8") as file:
        while not _locked(file):
            if not _runs(server):
                return 1
            time.sleep(PAUSE)
        file.truncate(0)
        output, code = build([make, "--no-print-directory", "web"], lambda: _runs(server))
        if code == 0 or not _runs(server):
            return code
        print(OLD_PAGE if (BUILT / "index.html").exists() else FAILED, file=sys.stderr, flush=True)
        file.write(output.strip()[-LONGEST_NOTE:] or f"make web ended with code {code}.")
    return code


def build(command: list[str], is_wanted: Callable[[], bool]) -> tuple[str, int]:
    """Runs a command while it is wanted, with its output on our own standard error. Returns the output and the exit
    code."""
    log = Path(".cache/page.txt")
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    with log.open("rb") as shown:
        while process.poll() is None and is_wanted():
            _show(shown)
            time.sleep(PAUSE)
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        _show(shown)
    return log.read_text("utf-8", "replace"), code


def _show(output: IO[bytes]) -> None:
    sys.stderr.write(output.read().decode("utf-8", "replace"))
    sys.stderr.flush()


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2]))
