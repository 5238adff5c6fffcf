"""Links to an agent that runs as a child of this process: starts it, exchanges lines, and ends its process tree."""

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from signal import Signals
from typing import Self

from bough.agents.errors import command_name
from bough.agents.keeper import process_tree
from bough.agents.lines import LINE_CAP
from bough.agents.link import END_GRACE, AgentExit, LineBatch, LinkClosed
from bough.agents.process.process_pipes import Pipes
from bough.agents.wait_shielded import shielded
from bough.errors import AgentFailed

LAST_WORDS = 1.0
"""Seconds of silence after which the pipe of a dead agent is abandoned, since a leftover command may hold it open."""
KILL_WAIT = 5.0
"""Seconds for the kernel to remove killed processes; only one stuck in the kernel needs longer."""
POLL = 0.02
"""Seconds between checks of processes that are not children, whose end is not reported."""


class ProcessLink:
    """The lines of one agent that this process started and whose pipes it holds."""

    def __init__(self, command: tuple[str, ...], pipes: Pipes, process: "subprocess.Popen[bytes]") -> None:
        self.command = command
        self.pid = process.pid
        self._pipes = pipes
        self._watch = _Watch(process)
        self._root = process_tree.find(self.pid) or process_tree.Process(self.pid, 0)
        self._closer = asyncio.create_task(self._close_when_over(), name=f"agent {self.pid} closer")
        self._ending: asyncio.Task[AgentExit] | None = None
        self._received = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def receive(self) -> LineBatch:
        lines = await self._pipes.output.batch()
        if lines is not None:
            self._received += len(lines)
            return LineBatch(lines, self._received)
        # Nothing reads its answers anymore. Closing its input tells the agent, and wakes blocked senders.
        self._pipes.input.close()
        if self._pipes.output.overflow:
            raise AgentFailed(
                "line_too_long",
                f"{command_name(self.command)} wrote a line that is too long.",
                command=list(self.command),
                stderr=self.stderr_tail(),
            )
        await _within(LAST_WORDS, self._watch.exited)
        if self._watch.exited.is_set():
            await _within(2 * LAST_WORDS, self._pipes.errors.ended)
        raise LinkClosed(self._exit())

    async def send(self, line: bytes, key: str) -> bool:
        if not await self._pipes.input.write(line):
            raise LinkClosed(self._exit())
        return True

    def confirm(self, number: int) -> None:
        """Does nothing: the agent and its lines end with this process."""

    def forget(self, prefix: str) -> None:
        """Does nothing, like `confirm`."""

    def stderr_tail(self) -> str:
        return self._pipes.errors.text()

    async def end(self, grace: float = END_GRACE) -> AgentExit:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(grace), name=f"agent {self.pid} end")
        return await shielded(self._ending)

    async def leave(self) -> None:
        await self.end()

    async def _end(self, grace: float) -> AgentExit:
        try:
            # Looked up before the agent exits: afterwards nothing leads from it to the commands it started.
            known = await asyncio.to_thread(process_tree.family, self._root)
            self._pipes.input.close()
            await self._gone([self._root], grace)
            for number, wait in ((Signals.SIGTERM, grace), (Signals.SIGKILL, KILL_WAIT)):
                known = await asyncio.to_thread(process_tree.family, self._root, known)
                if not known:
                    break
                process_tree.send_signal(known, number)
                await self._gone(known, wait)
            await _within(LAST_WORDS, self._watch.exited)
            if self._pipes.output.idle:
                await asyncio.wait([self._closer], timeout=2 * LAST_WORDS)
            return self._exit()
        finally:
            self._closer.cancel()
            self._pipes.close()
            self._watch.close()

    async def _gone(self, processes: list[process_tree.Process], seconds: float) -> None:
        """Waits until all of them have ended, at most this long."""
        deadline = asyncio.get_running_loop().time() + seconds
        left = [process for process in processes if process_tree.alive(process)]
        while left and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(POLL)
            left = [process for process in left if process_tree.alive(process)]

    async def _close_when_over(self) -> None:
        """Closes the pipes of a dead agent that a leftover process holds open."""
        await self._watch.exited.wait()
        await self._pipes.close_when_quiet(LAST_WORDS)

    def _exit(self) -> AgentExit:
        status = self._watch.status
        ended_by = -status if status is not None and status < 0 else None
        return AgentExit(code=status if ended_by is None else None, signal=ended_by, stderr=self.stderr_tail())


async def start_process(
    command: Sequence[str], *, cwd: str, env: Mapping[str, str], line_cap: int = LINE_CAP
) -> ProcessLink:
    """Starts an agent in its own session. Raises `AgentFailed` (`agent_missing`) if it cannot be started."""
    program = find_program(command, cwd, env)
    pipes = Pipes(line_cap)
    try:
        await pipes.open()
        stdin, stdout, stderr = pipes.child_ends
        # Not with the event loop's own function: uvloop's lets the agent and its children inherit second copies
        # of the pipes, which then never end.
        process = subprocess.Popen(  # noqa: ASYNC220 - it takes a millisecond, as in the standard library's loop
            [program, *command[1:]],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        pipes.close()
        raise agent_missing(command, f"could not be started in {cwd}: {error.strerror or error}.") from error
    except BaseException:
        pipes.close()
        raise
    pipes.close_child_ends()
    return ProcessLink(tuple(command), pipes, process)


class _Watch:
    """Notices the end of the process and reaps it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._fd = os.pidfd_open(process.pid)
        asyncio.get_running_loop().add_reader(self._fd, self._reap)
        self.exited = asyncio.Event()

    @property
    def status(self) -> int | None:
        return self._process.returncode

    def close(self) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _reap(self) -> None:
        if self._process.poll() is not None:
            self.close()
            self.exited.set()


async def _within(seconds: float, event: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def find_program(command: Sequence[str], cwd: str, env: Mapping[str, str]) -> str:
    """Returns the path of the program, looked up in the agent's own environment."""
    if not os.path.isdir(cwd):
        raise agent_missing(command, f"cannot start: its folder {cwd} does not exist.")
    name = os.path.join(cwd, command[0]) if os.path.dirname(command[0]) else command[0]
    program = shutil.which(name, path=env.get("PATH", os.defpath))
    if program is None:
        problem = "is not executable" if os.path.exists(name) else "was not found"
        raise agent_missing(command, f"cannot start: the program {command[0]!r} {problem}.")
    return os.path.abspath(program)


def agent_missing(command: Sequence[str], problem: str) -> AgentFailed:
    """Returns the error for an agent that cannot be started."""
    return AgentFailed("agent_missing", f"{command_name(command)} {problem}", command=list(command))
