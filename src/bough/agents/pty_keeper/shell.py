"""Runs a shell on a pseudo-terminal of its own."""

import fcntl
import json
import os
import pty
import signal
import struct
import termios
from typing import Any

from bough.agents.keeper import process_tree
from bough.agents.keeper.agent_process import IGNORED
from bough.agents.pty_keeper.protocol import MOST

IUTF8 = 0x4000
"""The flag by which the kernel erases whole characters. Python has no name for it."""
INPUT_LIMIT = 1024 * 1024
"""Bytes of input that the shell has not read, beyond which no more is taken from viewers."""


class Shell:
    """A shell and our end of its terminal."""

    def __init__(self, start: dict[str, Any]) -> None:
        """Starts the shell. Raises OSError if that fails."""
        result, failed = os.pipe2(os.O_CLOEXEC)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            _become_shell(start, failed)
        os.close(failed)
        with open(result, "rb") as pipe:
            error = pipe.read()
        if error:
            os.waitpid(self.pid, 0)
            os.close(self.fd)
            raise OSError(*json.loads(error))
        os.set_blocking(self.fd, False)
        os.set_inheritable(self.fd, False)
        attributes: list[Any] = termios.tcgetattr(self.fd)
        attributes[0] |= IUTF8
        termios.tcsetattr(self.fd, termios.TCSANOW, attributes)
        self.process = process_tree.find(self.pid) or process_tree.Process(self.pid, 0)
        self.columns = self.rows = 0
        self.resize(start["columns"], start["rows"])
        self._queue = bytearray()
        self.status: int | None = None
        """The exit code, or the negative signal number; None while it runs."""
        self.hung_up = False
        """Whether no process has the terminal open anymore."""

    @property
    def waiting(self) -> int:
        """The number of bytes that the shell has not read."""
        return len(self._queue)

    def read(self) -> bytes:
        """Returns what was printed; empty if nothing was, or the terminal is closed."""
        try:
            return os.read(self.fd, MOST)
        except BlockingIOError:
            return b""
        except OSError:
            self.hung_up = True
            return b""

    def put(self, data: bytes) -> None:
        """Passes on what a person typed, as fast as the terminal takes it."""
        self._queue += data
        self.write()

    def write(self) -> None:
        """Writes what is queued, as much as the terminal takes now."""
        try:
            while self._queue:
                del self._queue[: os.write(self.fd, self._queue[:MOST])]
        except BlockingIOError:
            return
        except OSError:
            self._queue.clear()

    def resize(self, columns: int, rows: int) -> bool:
        """Changes the size. Returns whether it differs."""
        if (columns, rows) == (self.columns, self.rows):
            return False
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        return True

    def hang_up(self) -> None:
        """Tells everything on this terminal that it was closed, as an interactive shell ignores SIGTERM."""
        process_tree.send_signal(process_tree.family(self.process), signal.SIGHUP)


def _become_shell(start: dict[str, Any], failed: int) -> None:
    """Replaces this new process by the shell, or reports why it cannot."""
    try:
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)
        os.chdir(start["cwd"])
        os.execve(start["program"], start["command"], start["env"])
    except OSError as error:
        os.write(failed, json.dumps([error.errno, error.strerror]).encode())
    finally:
        os._exit(127)
