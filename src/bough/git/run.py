"""Running git: one place that fixes its environment, bounds its time and turns its failures into errors."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bough.errors import Conflict, Internal

# A status scan of a very large tree takes seconds; longer than this something hangs (a prompt, a dead network drive).
TIMEOUT = 60.0
# Each only waits for a process; of their own, so that a git that hangs holds up nothing else.
_threads = ThreadPoolExecutor(16, "bough-git")

# Nothing may wait for a person, page its output, speak another language or follow the caller's own GIT_* variables.
_FIXED = {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0"}


class GitFailed(Conflict):
    """Git said no; the message carries what it said."""


def environment() -> dict[str, str]:
    """The caller's environment without what would point git elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | _FIXED


async def git(cwd: str, *arguments: str) -> str:
    """What `git ARGUMENTS` prints in `cwd`; GitFailed if it fails."""
    process = _start(cwd, arguments)
    talk = asyncio.get_running_loop().run_in_executor(_threads, process.communicate)
    try:
        async with asyncio.timeout(TIMEOUT):
            out, err = await asyncio.shield(talk)
    except BaseException as error:
        process.kill()
        await asyncio.shield(talk)
        if isinstance(error, TimeoutError):
            raise GitFailed("git_timeout", f"git {arguments[0]} took longer than {TIMEOUT:.0f} s.") from None
        raise
    if process.returncode != 0:
        said = err.decode("utf-8", "replace").strip()
        raise GitFailed("git_failed", f"git {arguments[0]} failed: {said or process.returncode}")
    return out.decode("utf-8", "surrogateescape")


def _start(cwd: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts git, in half a millisecond; the event loop's own way takes several, since it copies our memory first."""
    try:
        return subprocess.Popen(
            ["git", *arguments],
            cwd=cwd,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError as error:
        raise Internal("git_missing", "The program git was not found. Install git and try again.") from error
