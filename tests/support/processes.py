"""Starts programs for tests and kills them at the end of a block, whether the test passes or not."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator


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
