"""Runs one command as a process: starts it, reads its output, records how it ended, and ends it when cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping

import msgspec

from bough.agents.keeper import process_tree
from bough.agents.terminal import command_processes
from bough.agents.terminal.shell import ShellState, arguments, read_state

READ_SIZE = 1 << 16
# Bytes that may still be in the pipe when the shell has ended, and seconds to wait for the output of process
# substitutions, which shells do not wait for.
DRAIN_LIMIT = 1 << 20
LINGER = 0.2
# The kernel takes no larger environment when it starts a program.
STATE_FILE_LIMIT = 4 << 20


class CommandExit(msgspec.Struct):
    """The end of a command: with a code, or by a signal."""

    code: int | None
    signal: str | None


class OutputPipe:
    """The reading end of a command's output."""

    def __init__(self, fd: int, take: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._take: Callable[[bytes], None] | None = take
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read)

    async def finish(self) -> None:
        """Reads the rest once the shell has ended. Later output of background processes is read and discarded."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await self.ended.wait()
        taken = 0
        while not self.ended.is_set() and taken < DRAIN_LIMIT and (size := self._read()):
            taken += size
        self._take = None

    def close(self) -> None:
        """Closes the pipe."""
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
    """A command, from its start to its end."""

    def __init__(self, shell: str, text: str, environ: Mapping[str, str], mark: str, state_file: str) -> None:
        self._shell = shell
        self._text = text
        self._environ = environ
        self._mark = mark
        self._state_file = state_file
        self.shell_state: ShellState | None = None
        self.exit = CommandExit(None, None)

    async def run(self, cwd: str, env: dict[str, str], take: Callable[[bytes], None]) -> None:
        """Runs the command. Raises OSError or ValueError if it cannot start. When cancelled, ends all its processes."""
        # Created here, so that no one else can read it, whatever umask the command sets.
        os.close(os.open(self._state_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            await self._run(arguments(self._shell, self._text, self._state_file), cwd, env, take)
        finally:
            self.shell_state = self._take_state()

    def _take_state(self) -> ShellState | None:
        with contextlib.suppress(OSError):
            with open(self._state_file, "rb") as file:
                data = file.read(STATE_FILE_LIMIT)
            os.unlink(self._state_file)
            return read_state(data, self._environ)
        return None

    async def _run(self, program: list[str], cwd: str, env: dict[str, str], take: Callable[[bytes], None]) -> None:
        read_end, write_end = os.pipe()
        pipe = OutputPipe(read_end, take)
        process: asyncio.subprocess.Process | None = None
        root: process_tree.Process | None = None
        try:
            try:
                # Not one of asyncio's own pipes: it would wait for every process that holds it, even for days.
                process = await asyncio.create_subprocess_exec(
                    *program,
                    cwd=cwd,
                    env=env,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=write_end,
                    stderr=write_end,
                    start_new_session=True,
                )
            finally:
                os.close(write_end)
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
        self.exit = CommandExit(code, None) if code >= 0 else CommandExit(None, _signal_name(-code))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
