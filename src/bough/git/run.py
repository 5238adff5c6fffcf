"""Running git: one place that fixes its environment, bounds its time and turns its failures into errors. What is asked
of git is the other modules' part."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bough.errors import Conflict, Internal

# A status scan of a very large tree takes seconds; longer than this something hangs (a prompt, a dead network drive).
TIMEOUT = 60.0
# Each only waits for a process; of their own, so that a git that hangs holds up nothing else.
_threads = ThreadPoolExecutor(16, "bough-git")

# Nothing may wait for a person, page its output, speak another language or follow the caller's own GIT_* variables.
_FIXED = {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0"}
# What would point git elsewhere, and what of ours the hooks of a repository must not see.
_HIDDEN = ("GIT_", "BOUGH_")


class GitFailed(Conflict):
    """Git said no; the message carries what it said."""


def environment() -> dict[str, str]:
    """The caller's environment without what would point git elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}
    return kept | _FIXED


async def git(
    cwd: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109
    hold: Sequence[int] = (),
) -> str:
    """What `git ARGUMENTS` prints in `cwd`; GitFailed if it fails. Git holds the files `hold` open for as long as it
    runs, whatever becomes of us."""

    def talk(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        return process.communicate(stdin)

    out = await _run(cwd, arguments, talk, env, stdin is not None, timeout, hold)
    return out.decode("utf-8", "surrogateescape")


async def git_head(
    cwd: str,
    limit: int,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109
) -> tuple[bytes, bool]:
    """The first `limit` bytes of what git prints, and whether there was more."""

    def read(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        assert process.stdout is not None
        out = process.stdout.read(limit + 1)
        if len(out) > limit:
            process.kill()
        return out, process.communicate()[1]

    out = await _run(cwd, arguments, read, env, False, timeout, (), cut=limit)
    return out[:limit], len(out) > limit


async def _run(
    cwd: str,
    arguments: Sequence[str],
    talking: Callable[[subprocess.Popen[bytes]], tuple[bytes, bytes]],
    env: Mapping[str, str] | None,
    writes: bool,
    within: float,
    hold: Sequence[int],
    *,
    cut: int | None = None,
) -> bytes:
    process = _start(cwd, arguments, env or {}, writes, hold)
    talk: Any = asyncio.get_running_loop().run_in_executor(_threads, talking, process)
    name = next((one for one in arguments if not one.startswith("-") and "=" not in one), arguments[0])
    try:
        async with asyncio.timeout(within):
            out, err = await asyncio.shield(talk)
    except BaseException as error:
        process.kill()
        await asyncio.shield(talk)
        if isinstance(error, TimeoutError):
            raise GitFailed("git_timeout", f"git {name} took longer than {within:.0f} s.") from None
        raise
    if process.returncode != 0 and not (cut is not None and len(out) > cut):
        said = err.decode("utf-8", "replace").strip()
        raise GitFailed("git_failed", f"git {name} failed: {said or process.returncode}")
    return out


def _start(
    cwd: str, arguments: Sequence[str], env: Mapping[str, str], writes: bool, hold: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Starts git, in half a millisecond; the event loop's own way takes several, since it copies our memory first."""
    try:
        return subprocess.Popen(
            ["git", *arguments],
            cwd=cwd,
            env={**environment(), **env},
            stdin=subprocess.PIPE if writes else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(hold),
        )
    except FileNotFoundError as error:
        if error.filename == cwd or not os.path.isdir(cwd):
            raise GitFailed("git_failed", f"There is no folder {cwd}.") from error
        raise Internal("git_missing", "The program git was not found. Install git and try again.") from error
