"""Runs the command line in tests: as a real program, or in this process where that is faster."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bough.app import running

# Generous, because the machine may be loaded.
PATIENCE = 120.0
# The programs of the test that is running.
_started: list[asyncio.subprocess.Process] = []


@dataclass
class Result:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


class Program:
    """A running `bough`, with its output so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.out = ""
        self.err = ""

    async def until(self, text: str) -> None:
        """Reads until this text is written."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while text not in self.out:
                piece = await self.process.stdout.read(4096)
                assert piece, f"{text!r} was never written, but:\n{self.out}"
                self.out += piece.decode()

    async def until_noted(self, text: str) -> None:
        """Reads until this text is written to stderr."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while text not in self.err:
                piece = await self.process.stderr.read(4096)
                assert piece, f"{text!r} was never noted, but:\n{self.err}"
                self.err += piece.decode()

    async def end(self) -> Result:
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Result(self.process.returncode, self.out + out.decode(), self.err + err.decode())


async def start(*arguments: str, cwd: Path | None = None, **env: str) -> Program:
    """Starts the real program."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough", *arguments),
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _started.append(process)
    return Program(process)


async def end_left() -> None:
    """Ends the programs that a failed test has left running: politely, so that a server ends its agents, then by
    force."""
    while _started:
        process = _started.pop()
        for end in (process.terminate, process.kill):
            if process.returncode is not None:
                break
            with contextlib.suppress(ProcessLookupError):
                end()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await process.communicate()


async def bough(*arguments: str, cwd: Path | None = None, **env: str) -> Result:
    """Runs the real program to its end."""
    return await (await start(*arguments, cwd=cwd, **env)).end()


def run_here(arguments: list[str], stdin: str = "") -> Result:
    """Runs a command in this process, one at a time, because it writes to the stdout of the whole process."""
    from bough.api.cli.main import run

    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    sys.argv, sys.stdin, sys.stdout, sys.stderr = ["bough", *arguments], io.StringIO(stdin), out, err
    try:
        code = run(running)
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
    texts = [item.detach().getvalue().decode() for item in (out, err)]  # pyright: ignore[reportAttributeAccessIssue]
    return Result(code, *texts)


Cli = Callable[..., Coroutine[Any, Any, Result]]
