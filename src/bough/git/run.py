"""Running git: one place that fixes its environment, bounds its time and turns its failures into errors."""

from __future__ import annotations

import asyncio
import contextlib
import os

from bough.errors import Conflict, Internal

# A status scan of a very large tree takes seconds; longer than this something hangs (a prompt, a dead network drive).
TIMEOUT = 60.0

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
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            cwd=cwd,
            env=environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as error:
        raise Internal("git_missing", "The program git was not found. Install git and try again.") from error
    try:
        async with asyncio.timeout(TIMEOUT):
            out, err = await process.communicate()
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())
        if isinstance(error, TimeoutError):
            raise GitFailed("git_timeout", f"git {arguments[0]} took longer than {TIMEOUT:.0f} s.") from None
        raise
    if process.returncode != 0:
        said = err.decode("utf-8", "replace").strip()
        raise GitFailed("git_failed", f"git {arguments[0]} failed: {said or process.returncode}")
    return out.decode("utf-8", "surrogateescape")
