"""Finds out whether something answers at a port of this machine."""

from __future__ import annotations

import asyncio

# The addresses at which development servers listen when they are told "localhost".
LOOPBACKS = ("127.0.0.1", "::1")
ANSWER_WITHIN = 1.0
# Bytes that are read ahead.
READ_LIMIT = 64 * 1024


async def connect_loopback(
    port: int, within: float = ANSWER_WITHIN, limit: int = READ_LIMIT
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to a port of this machine. Raises OSError or TimeoutError if nothing accepts."""
    problem: Exception = OSError("nothing listens")
    for address in LOOPBACKS:
        try:
            async with asyncio.timeout(within):
                return await asyncio.open_connection(address, port, limit=limit)
        except (OSError, TimeoutError) as error:
            problem = error
    raise problem


async def answers_at(port: int) -> bool:
    """Returns whether something accepts connections."""
    try:
        _, writer = await connect_loopback(port)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True
