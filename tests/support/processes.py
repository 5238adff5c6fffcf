"""Starts programs for tests and kills them at the end of a block, whether the test passes or not."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator

# A program that ends by itself does so in seconds; on a heavily loaded machine it takes much longer.
ENDS_WITHIN = 120.0


async def communicated(process: Process, stdin: bytes | None = None) -> tuple[bytes, bytes]:
    """Returns what a program prints until it ends. Kills it if that takes too long, or the test is cancelled."""
    try:
        async with asyncio.timeout(ENDS_WITHIN):
            out, err = await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return out or b"", err or b""


@contextlib.asynccontextmanager
async def running(*command: str) -> AsyncGenerator[tuple[Process, asyncio.StreamReader]]:
    """Starts a program with pipes for input and output; yields the process and its output."""
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    try:
        assert process.stdout is not None
        yield process, process.stdout
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
