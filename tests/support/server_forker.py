"""Starts many servers quickly: a process imports everything once, and forks a `bough serve` for each start. Most of the
time of a start is that import. The forked server is a process of its own, which can be killed like any other."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import select
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

Json = dict[str, Any]
LARGEST = 65536


class ForkedProcess:
    """A forked server, with the methods of an `asyncio.subprocess.Process` that tests use."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader, end: asyncio.Future[int]) -> None:
        self.pid = pid
        self.stdout = stdout
        self._end = end

    @property
    def returncode(self) -> int | None:
        return self._end.result() if self._end.done() else None

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def wait(self) -> int:
        return await asyncio.shield(self._end)


class ServerForker:
    """The process that forks servers, from outside."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._begun: asyncio.Queue[int] = asyncio.Queue()
        self._ends: dict[int, asyncio.Future[int]] = {}

    async def launch(self, arguments: Sequence[str], env: Mapping[str, str], log: int) -> ForkedProcess:
        """Forks a server with these arguments and environment, whose errors go to `log`."""
        reading, writing = os.pipe()
        message = json.dumps({"arguments": list(arguments), "env": dict(env)}).encode()
        socket.send_fds(self._channel, [message], [writing, log])
        os.close(writing)
        stdout = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(reading, "rb", buffering=0)
        )
        pid = await self._begun.get()
        return ForkedProcess(pid, stdout, self._ends[pid])

    async def listen(self) -> None:
        """Notes which servers have begun and ended."""
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(self._channel, LARGEST):
            report: Json = json.loads(data)
            if "code" in report:
                self._ends.pop(report["pid"]).set_result(report["code"])
            else:
                self._ends[report["pid"]] = loop.create_future()
                self._begun.put_nowait(report["pid"])


@contextlib.asynccontextmanager
async def forking(env: Mapping[str, str]) -> AsyncGenerator[ServerForker]:
    """Runs a forker; `env` is there from the beginning, for what cannot be set later, such as a preloaded library."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.setblocking(False)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, str(its.fileno())),
        env=os.environ | dict(env),
        pass_fds=[its.fileno()],
        stdin=asyncio.subprocess.DEVNULL,
    )
    its.close()
    forker = ServerForker(mine)
    listening = asyncio.create_task(forker.listen())
    try:
        yield forker
    finally:
        listening.cancel()
        # It ends when nobody can ask anymore.
        mine.close()
        await process.wait()


# The other side


def main(channel: socket.socket) -> None:
    """Forks servers until the other end of the channel is closed."""
    from bough.api.page.routes import BUILT
    from bough.api.server import app
    from bough.settings import Settings
    from tests.support.faults import crashing_server

    # It knows no server, so all of them share it.
    app.application = functools.lru_cache(app.application)
    app.application(Settings().max_body, BUILT)
    wake, alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(alarm)
    signal.signal(signal.SIGCHLD, _wake)
    while True:
        ready = select.select([channel, wake], [], [])[0]
        if wake in ready:
            os.read(wake, LARGEST)
        if channel in ready:
            data, fds, _, _ = socket.recv_fds(channel, LARGEST, 2)
            if not data:
                return
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                channel.close()
                _become(json.loads(data), fds)
                crashing_server.run()
                return
            for fd in fds:
                os.close(fd)
            channel.send(json.dumps({"pid": pid}).encode())
        _report_ends(channel)


def _wake(_number: int, _frame: object) -> None:
    """Does nothing: the signal itself ends the wait."""


def _become(start: Json, fds: Sequence[int]) -> None:
    """Gives a new process the arguments, the environment and the output of a server."""
    for number, fd in enumerate(fds, 1):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(cast("dict[str, str]", start["env"]))
    sys.argv[1:] = start["arguments"]


def _report_ends(channel: socket.socket) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            report = {"pid": ended[0], "code": os.waitstatus_to_exitcode(ended[1])}
            channel.send(json.dumps(report).encode())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
