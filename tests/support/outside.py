"""Has conversations with the demo agent in its own terminal program, outside of Bough."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

PATIENCE = 60.0


async def demo_chat(home: Path, cwd: Path, *prompts: str, resume: str | None = None) -> str:
    """Sends prompts to a new conversation, or to one that is resumed, and returns what the program printed."""
    words = ["--home", str(home), *(("--resume", resume) if resume else ("--chat",))]
    for prompt in prompts:
        words += ["--prompt", prompt]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough.agents.demo", *words),
        cwd=cwd,
        env=os.environ.copy(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output
    return output.decode()
