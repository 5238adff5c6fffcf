"""Starts the agent and holds its three pipes, each with a bound on its memory. `end_agent` ends it."""

import contextlib
import fcntl
import os
import signal
from typing import Any

from bough.agents.keeper import process_tree
from bough.agents.keeper.journal import Journal

BLOCK = 256 * 1024
"""Bytes read from the agent at once, and the most of an incomplete line that is held in memory."""
PIPE_SIZE = 1024 * 1024
"""Kernel buffer of stdout, for larger reads while an agent writes fast. Ordinary users may not ask for more."""
STDERR_TAIL = 64 * 1024
"""Bytes of stderr that are kept: enough for a stack trace, little enough not to hurt."""
LINE_CAP = 64 * 1024 * 1024
"""The longest line that is accepted from an agent, as everywhere in Bough."""
BOX_FD = 3
"""The descriptor from which a box reads its arguments, and which it closes."""
PORTS_FD = 4
"""The descriptor through which a box with its own network hands over its ports. It closes that before the agent."""
FILTER_FD = 5
"""The descriptor from which a box reads the filter of its system calls, if it has one."""
SIGNALLED = 128
"""A box adds this to the number of the signal that ended its agent, as shells do."""
LOADED = ("LD_", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "MALLOC_", "NLSPATH")
"""Beginnings of the variables that lead a program's loader and library to files or change how they work."""
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT)
"""Signals that a keeper ignores. They are reset for the agent, which would inherit that."""


class AgentOutput:
    """Journals the agent's stdout in blocks of whole lines. Reads nothing while a block waits for disk space."""

    def __init__(self, fd: int, journal: Journal) -> None:
        self.fd = fd
        self._journal = journal
        self._buffer = bytearray(BLOCK)
        self._view = memoryview(self._buffer)
        self._begun = b""
        self._length = 0  # Of the incomplete line, including its part that is already journalled.
        self._held: tuple[list[bytes | memoryview], int, bool] | None = None
        self.ended = False
        self.overflow = False

    @property
    def stalled(self) -> bool:
        """Whether a block waits because it could not be journalled."""
        return self._held is not None

    def read(self) -> bool:
        """Journals one block. Returns False if there was nothing to read. Raises OSError if the disk is full."""
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
        """Marks the end of the output, and ends an incomplete last line with a newline."""
        self.ended = True
        if self._length and not self.overflow:
            self._hold([self._begun, b"\n"], 1)

    def retry(self) -> None:
        """Journals the waiting block. Raises OSError if the disk is still full."""
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
    """Lines on their way to the agent."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._queue = bytearray()
        self.shut = False
        """Whether no more lines are accepted."""

    @property
    def size(self) -> int:
        """The number of bytes that the agent has not read."""
        return len(self._queue)

    def put(self, line: bytes) -> None:
        """Queues a line, and writes as much as the agent reads at once."""
        self._queue += line
        self._queue += b"\n"
        self.write()

    def write(self) -> None:
        """Writes as much as the agent reads at once."""
        try:
            while self._queue:
                with memoryview(self._queue) as whole, whole[:BLOCK] as part:
                    written = os.write(self.fd, part)
                del self._queue[:written]
        except BlockingIOError:
            return
        except OSError:  # The agent has closed its end.
            self.stop(now=True)

    def stop(self, *, now: bool = False) -> None:
        """Accepts no more lines. Queued ones are still written, unless `now` is set."""
        self.shut = True
        if now:
            self._queue.clear()


class AgentErrors:
    """The tail of the agent's stderr. It is always read, so that no agent blocks on it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._tail = bytearray()
        self.total = 0
        """The number of bytes so far."""
        self.ended = False

    def read(self) -> bool:
        """Reads the available bytes. Returns False if there were none."""
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
        """Returns the part of the tail after the first `after` bytes of stderr."""
        return bytes(self._tail[-min(STDERR_TAIL, self.total - after) :]) if self.total > after else b""


def _boxed(box: list[str], command: list[str], filtered: bool, inside: dict[str, str]) -> tuple[list[str], int]:
    """Returns the command that runs an agent in its box, and a file with the arguments of the box. It sets the
    variables `inside`.

    They are not part of the command line, where the agent and other users of the machine could read which paths are
    hidden. The words after `--` run inside the box.
    """
    cut = box.index("--")
    words = [word for name, value in inside.items() for word in ("--setenv", name, value)]
    words += [*box[1:cut], *(("--seccomp", str(FILTER_FD)) if filtered else ())]
    arguments = _file("box", b"".join(os.fsencode(word) + b"\0" for word in words))
    return [box[0], "--args", str(BOX_FD), *box[cut:], *command], arguments


def _file(name: str, content: bytes) -> int:
    """Returns a file in memory."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class AgentProcess:
    """One agent, started in its own process session."""

    def __init__(self, start: dict[str, Any], journal: Journal, ports: int | None = None) -> None:
        """Starts the agent. `ports` is the socket for the ports of its box, which is closed here."""
        (stdin, our_stdin), (our_stdout, stdout), (our_stderr, stderr) = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
        agent_ends = (stdin, stdout, stderr)
        for fd in (our_stdin, our_stdout, our_stderr):
            os.set_blocking(fd, False)
        with contextlib.suppress(OSError):  # The user's share of pipe memory may be used up; that is only slower.
            fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        box: list[str] = start.get("box") or []
        env: dict[str, str] = start["env"]
        command = [start["program"], *start["command"][1:]]
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(agent_ends)]
        if box:
            filter_code: str | None = start.get("filter")
            # The box itself runs outside, and must load nothing that the agent may have written.
            inside = {name: value for name, value in env.items() if name.startswith(LOADED)}
            env = {name: value for name, value in env.items() if name not in inside}
            command, arguments = _boxed(box, command, filter_code is not None, inside)
            actions.append((os.POSIX_SPAWN_DUP2, arguments, BOX_FD))
            agent_ends = (*agent_ends, arguments)
            if filter_code is not None:
                code = _file("filter", bytes.fromhex(filter_code))
                actions.append((os.POSIX_SPAWN_DUP2, code, FILTER_FD))
                agent_ends = (*agent_ends, code)
        if ports is not None:
            actions.append((os.POSIX_SPAWN_DUP2, ports, PORTS_FD))
            agent_ends = (*agent_ends, ports)
        # A box enters the folder by itself.
        os.chdir("/" if box else start["cwd"])
        try:
            self.pid = os.posix_spawn(
                command[0],
                command,
                env,
                file_actions=actions,
                setsid=True,
                setsigmask=[],
                setsigdef=IGNORED,
            )
        finally:
            os.chdir("/")
            for fd in agent_ends:
                os.close(fd)
        self.boxed = bool(box)
        """Whether `pid` is the sandbox around the agent. The agent then ends with it."""
        self.process = process_tree.find(self.pid) or process_tree.Process(self.pid, 0)
        self.input, self.output, self.errors = (
            AgentInput(our_stdin),
            AgentOutput(our_stdout, journal),
            AgentErrors(our_stderr),
        )
        self.status: int | None = None
        """The exit code, or the negative signal number; None while it runs."""

    def ended(self, status: int) -> None:
        """Notes how the process ended. A box reports the signal that ended its agent as 128 and its number."""
        code = os.waitstatus_to_exitcode(status)
        self.status = SIGNALLED - code if self.boxed and SIGNALLED < code <= SIGNALLED + signal.NSIG else code

    def drain(self) -> None:
        """Reads the rest of the pipes once no process writes to them. Raises OSError if the disk is full."""
        while not self.errors.ended and self.errors.read():
            pass
        while not self.output.ended and self.output.read():
            pass
        if not self.output.ended:
            self.output.finish()
