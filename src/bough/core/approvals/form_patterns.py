"""Checks answers against the regular expressions of an agent's form. An agent may send one that takes forever, so they
run in a process of their own with a limit."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import msgspec

WITHIN = 5.0
"""Seconds for all patterns of a form, including the start of the process."""
LONGEST = 1000
"""Characters of a pattern; a longer one is not checked."""

# Reads pairs of pattern and text, and prints after each whether it matches. What cannot be compiled is not checked.
_PROGRAM = """
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (3, 3))
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
for pattern, text in json.load(sys.stdin):
    try:
        outcome = "yes" if re.search(pattern, text) else "no"
    except (re.error, OverflowError, RecursionError, MemoryError):
        outcome = "unknown"
    print(outcome, flush=True)
"""


async def mismatches(pairs: list[tuple[str, str]]) -> list[bool]:
    """Tells for each pair of pattern and text whether they surely do not match. A pattern that is invalid or takes too
    long is left to the agent to check."""
    checked = [(pattern, text) if len(pattern) <= LONGEST else ("", "") for pattern, text in pairs]
    if not checked:
        return []
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", "-c", _PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    assert process.stdin is not None and process.stdout is not None
    outcomes: list[bytes] = []
    try:
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(WITHIN):
                process.stdin.write(msgspec.json.encode(checked))
                await process.stdin.drain()
                process.stdin.close()
                while line := await process.stdout.readline():
                    outcomes.append(line.strip())
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return [number < len(outcomes) and outcomes[number] == b"no" for number in range(len(pairs))]
