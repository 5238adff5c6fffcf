"""The agent as its keeper holds it: its process, and the three pipes, each with a bound on what it may take.
It leaves ending the agent to `ending`, and everything that a line causes to the service."""

import contextlib
import fcntl
import os
import signal
from typing import Any

from bough.agents.keeper import process_tree
from bough.agents.keeper.journal import Journal

BLOCK = 256 * 1024
"""Bytes read from the agent at once, and the most of an unfinished line that waits in memory."""
PIPE_SIZE = 1024 * 1024
"""Kernel buffer asked for stdout: larger reads while an agent floods; the most an ordinary user may ask."""
STDERR_TAIL = 64 * 1024
"""Bytes of stderr that are kept: enough for a stack trace, too little to hurt."""
LINE_CAP = 64 * 1024 * 1024
"""Longest line taken from an agent, as everywhere in Bough."""
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT)
"""Signals that a keeper ignores, which an agent would inherit."""


class AgentOutput:
    """What the agent says, journalled in blocks of whole lines. Nothing is read while a block waits for the disk."""

    def __init__(self, fd: int, journal: Journal) -> None:
        self.fd = fd
        self._journal = journal
        self._buffer = bytearray(BLOCK)
        self._view = memoryview(self._buffer)
        self._begun = b""
        self._length = 0  # of the line that has begun, what is already in the journal included
        self._held: tuple[list[bytes | memoryview], int, bool] | None = None
        self.ended = False
        self.overflow = False

    @property
    def stalled(self) -> bool:
        """A block waits because it could not be journalled."""
        return self._held is not None

    def read(self) -> bool:
        """Reads and journals one block; False if there was nothing to read. Raises OSError when the disk is full."""
        try:
            size = os.readv(self.fd, [self._buffer])
        except BlockingIOError:
            return False
        if size:
            self._take(size)
        else:
            self.finish()
        return True

    def finish(self) -> None:
        """Says that nothing more comes. A line that the end cut off gets its newline from us."""
        self.ended = True
        if self._length and not self.overflow:
            self._hold([self._begun, b"\n"], 1)

    def retry(self) -> None:
        """Journals the block that waits; raises OSError if it still cannot be."""
        if self._held is not None:
            parts, count, open = self._held
            self._journal.add_lines(parts, count, open=open)
            self._held = None

    def _take(self, size: int) -> None:
        cut = self._buffer.rfind(b"\n", 0, size) + 1
        longest = self._length + (self._buffer.find(b"\n", 0, size) if cut else size)
        if longest > LINE_CAP:
            self.overflow = self.ended = True
        elif cut:
            begun, self._begun = self._begun, bytes(self._view[cut:size])
            self._length = size - cut
            self._hold([begun, self._view[:cut]], self._buffer.count(b"\n", 0, cut))
        else:
            self._length = longest
            begun, self._begun = self._begun, b""
            if len(begun) + size < BLOCK:
                self._begun = begun + self._view[:size]
            else:
                self._hold([begun, self._view[:size]], 0, open=True)

    def _hold(self, parts: list[bytes | memoryview], count: int, *, open: bool = False) -> None:
        self._held = parts, count, open
        self.retry()


class AgentInput:
    """Lines on their way into the agent."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._queue = bytearray()
        self.shut = False
        """No line is taken any more."""

    @property
    def size(self) -> int:
        """Bytes that wait for the agent to read."""
        return len(self._queue)

    def put(self, line: bytes) -> None:
        """Takes a line, and hands over what the agent takes at once."""
        self._queue += line
        self._queue += b"\n"
        self.write()

    def write(self) -> None:
        """Hands over what the agent takes."""
        try:
            while self._queue:
                with memoryview(self._queue) as whole, whole[:BLOCK] as part:
                    written = os.write(self.fd, part)
                del self._queue[:written]
        except BlockingIOError:
            return
        except OSError:  # nobody reads any more
            self.stop(now=True)

    def stop(self, *, now: bool = False) -> None:
        """Takes no more lines; what is still under way goes out unless it is for `now`."""
        self.shut = True
        if now:
            self._queue.clear()


class AgentErrors:
    """The end of what the agent wrote to stderr; always read, so that no agent ever waits on it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._tail = bytearray()
        self.total = 0
        """Bytes so far."""
        self.ended = False

    def read(self) -> bool:
        """Reads what there is; False if there was nothing."""
        try:
            data = os.read(self.fd, STDERR_TAIL)
        except BlockingIOError:
            return False
        self._tail += data
        self.total += len(data)
        if len(self._tail) > 2 * STDERR_TAIL:
            del self._tail[:-STDERR_TAIL]
        self.ended = not data
        return True

    def tail(self, after: int = 0) -> bytes:
        """Returns what of the tail came after so many bytes."""
        return bytes(self._tail[-min(STDERR_TAIL, self.total - after) :]) if self.total > after else b""


class AgentProcess:
    """One agent, started in a session of its own."""

    def __init__(self, start: dict[str, Any], journal: Journal) -> None:
        (stdin, our_stdin), (our_stdout, stdout), (our_stderr, stderr) = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
        ours, theirs = (our_stdin, our_stdout, our_stderr), (stdin, stdout, stderr)
        for fd in ours:
            os.set_blocking(fd, False)
        with contextlib.suppress(OSError):  # the user's share of pipe memory may be spent: only slower
            fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        os.chdir(start["cwd"])
        try:
            self.pid = os.posix_spawn(
                start["program"],
                [start["program"], *start["command"][1:]],
                start["env"],
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(theirs)],
                setsid=True,
                setsigmask=[],
                setsigdef=IGNORED,
            )
        finally:
            os.chdir("/")
            for fd in theirs:
                os.close(fd)
        self.process = process_tree.find(self.pid) or process_tree.Process(self.pid, 0)
        self.input, self.output, self.errors = (
            AgentInput(our_stdin),
            AgentOutput(our_stdout, journal),
            AgentErrors(our_stderr),
        )
        self.status: int | None = None
        """How it ended, once it has: its code, or minus the signal."""

    def drain(self) -> None:
        """Reads what is left in the pipes once nobody writes any more; raises OSError when the disk is full."""
        while not self.errors.ended and self.errors.read():
            pass
        while not self.output.ended and self.output.read():
            pass
        if not self.output.ended:
            self.output.finish()
