"""Owns one command as a process: starts it, reads what it prints, tells how it ended, and ends it when cancelled.
It leaves what the shell is told to `shell`, and what clients are told to the turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping

import msgspec

from bough.agents.keeper import process_tree
from bough.agents.terminal import command_processes
from bough.agents.terminal.shell import Left, arguments, read_left

READ_SIZE = 1 << 16
# What may still be in the pipe when the shell has ended, and how long we wait for what a process substitution is
# about to print: shells do not wait for those.
DRAIN_LIMIT = 1 << 20
LINGER = 0.2
# An environment cannot be larger than what the kernel takes at the start of a program.
STATE_FILE_LIMIT = 4 << 20


class Exit(msgspec.Struct):
    """How a command ended: with a code, or by a signal."""

    code: int | None
    signal: str | None


class Pipe:
    """The end of a command's output that we read."""

    def __init__(self, fd: int, take: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._take: Callable[[bytes], None] | None = take
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read)

    async def finish(self) -> None:
        """Reads what is still to come when the shell has ended. What others print later goes nowhere, but they can."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await self.ended.wait()
        taken = 0
        while not self.ended.is_set() and taken < DRAIN_LIMIT and (size := self._read()):
            taken += size
        self._take = None

    def close(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            self._loop.remove_reader(self._fd)
            os.close(self._fd)

    def _read(self) -> int:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return 0
        if not data:
            self.close()
        elif self._take is not None:
            self._take(data)
        return len(data)


class Command:
    """One command from its start to its end."""

    def __init__(self, shell: str, text: str, environ: Mapping[str, str], mark: str, state_file: str) -> None:
        self._shell = shell
        self._text = text
        self._environ = environ
        self._mark = mark
        self._state_file = state_file
        self.left: Left | None = None
        self.exit = Exit(None, None)

    async def run(self, cwd: str, env: dict[str, str], take: Callable[[bytes], None]) -> None:
        """Runs it; OSError or ValueError if it cannot be started. When cancelled, nothing of it is left running."""
        # Made by us, so that nobody else can read it, whatever the umask of the command.
        os.close(os.open(self._state_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            await self._run(arguments(self._shell, self._text, self._state_file), cwd, env, take)
        finally:
            self.left = self._take_state()

    def _take_state(self) -> Left | None:
        with contextlib.suppress(OSError):
            with open(self._state_file, "rb") as file:
                data = file.read(STATE_FILE_LIMIT)
            os.unlink(self._state_file)
            return read_left(data, self._environ)
        return None

    async def _run(self, program: list[str], cwd: str, env: dict[str, str], take: Callable[[bytes], None]) -> None:
        ours, theirs = os.pipe()
        pipe = Pipe(ours, take)
        process: asyncio.subprocess.Process | None = None
        root: process_tree.Process | None = None
        try:
            try:
                # Not a pipe of asyncio's: it would wait for everybody who holds it, for days if need be.
                process = await asyncio.create_subprocess_exec(
                    *program,
                    cwd=cwd,
                    env=env,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=theirs,
                    stderr=theirs,
                    start_new_session=True,
                )
            finally:
                os.close(theirs)
            root = process_tree.find(process.pid)
            self._ended(await process.wait())
            await pipe.finish()
        except asyncio.CancelledError:
            await command_processes.end(self._mark, root)
            if process is not None:
                self._ended(await process.wait())
            await pipe.finish()
            pipe.close()
            raise
        except BaseException:
            pipe.close()
            raise

    def _ended(self, code: int) -> None:
        self.exit = Exit(code, None) if code >= 0 else Exit(None, _name(-code))


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
