"""Runs git: fixes its environment, limits its time and turns its failures into errors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bough.errors import Conflict, Internal

# Scanning a very large tree takes seconds; anything longer hangs (a prompt, a dead network drive).
TIMEOUT = 60.0
# Each thread only waits for a process. A pool of its own, so that a hanging git delays nothing else.
_threads = ThreadPoolExecutor(16, "bough-git")
# How soon a thread notices that its caller is gone: processes that git started may keep its pipes open forever.
PAUSE = 0.5
# A killed git is gone at once, unless its disk does not respond.
GRACE = 2.0
CHUNK = 64 * 1024

# Nothing may wait for a person, use a pager, speak another language or follow the caller's GIT_* variables.
_FIXED = {"GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0"}
# Variables that would redirect git, and variables of ours that a repository's hooks must not see.
_HIDDEN = ("GIT_", "BOUGH_")


class GitFailed(Conflict):
    """Raised when git fails; the message contains its output."""


def environment() -> dict[str, str]:
    """Returns the environment without variables that would redirect git."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}
    return env | _FIXED


async def git(
    cwd: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109
    hold: Sequence[int] = (),
    fine: Sequence[int] = (0,),
) -> str:
    """Runs `git ARGUMENTS` in `cwd` and returns its output. Raises `GitFailed` for exit codes other than 0 and `fine`.
    Git keeps the files `hold` open while it runs, whatever happens to us."""
    out = await _run(cwd, arguments, env or {}, stdin, timeout, hold, fine=fine)
    return out.decode("utf-8", "surrogateescape")


async def git_head(
    cwd: str,
    limit: int,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109
) -> tuple[bytes, bool]:
    """Returns the first `limit` bytes of git's output, and whether there was more."""
    out = await _run(cwd, arguments, env or {}, None, timeout, (), cut=limit)
    return out[:limit], len(out) > limit


async def _run(
    cwd: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    stdin: bytes | None,
    within: float,
    hold: Sequence[int],
    *,
    cut: int | None = None,
    fine: Sequence[int] = (0,),
) -> bytes:
    process = _start(cwd, arguments, env, stdin is not None, hold)
    given_up = threading.Event()
    talk: Any = asyncio.get_running_loop().run_in_executor(_threads, _talk, process, stdin, cut, given_up)
    name = next(
        (argument for argument in arguments if not argument.startswith("-") and "=" not in argument), arguments[0]
    )
    try:
        async with asyncio.timeout(within):
            out, err = await asyncio.shield(talk)
    except BaseException as error:
        given_up.set()
        _kill(process)
        await asyncio.wait([talk], timeout=GRACE)
        if isinstance(error, TimeoutError):
            raise GitFailed("git_timeout", f"git {name} took longer than {within:.0f} s.") from None
        raise
    if process.returncode not in fine and not (cut is not None and len(out) > cut):
        said = err.decode("utf-8", "replace").strip()
        raise GitFailed("git_failed", f"git {name} failed: {said or process.returncode}")
    return out


def _talk(
    process: subprocess.Popen[bytes], stdin: bytes | None, cut: int | None, given_up: threading.Event
) -> tuple[bytes, bytes]:
    """Reads git's output and errors until it exits, exceeds the limit or is given up."""
    out, err = bytearray(), bytearray()
    left = memoryview(stdin or b"")
    stdin_pipe = process.stdin
    assert process.stdout is not None and process.stderr is not None
    try:
        with selectors.PollSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, out)
            selector.register(process.stderr, selectors.EVENT_READ, err)
            if stdin_pipe is not None:
                os.set_blocking(stdin_pipe.fileno(), False)
                selector.register(stdin_pipe, selectors.EVENT_WRITE)
            while selector.get_map() and not given_up.is_set():
                for key, _ in selector.select(PAUSE):
                    if stdin_pipe is not None and key.fileobj is stdin_pipe:
                        left = _written(key.fd, left)
                        if not left:
                            selector.unregister(stdin_pipe)
                            stdin_pipe.close()
                    elif chunk := os.read(key.fd, CHUNK):
                        key.data.extend(chunk)
                    else:
                        selector.unregister(key.fileobj)
                if cut is not None and len(out) > cut:
                    _kill(process)
                    break
        process.wait()
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
    return bytes(out), bytes(err)


def _written(pipe: int, remaining: memoryview) -> memoryview:
    """Writes to git and returns what remains; nothing if git does not want it."""
    try:
        return remaining[os.write(pipe, remaining[:CHUNK]) :]
    except BlockingIOError:
        return remaining
    except BrokenPipeError:
        return remaining[:0]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills git and everything it started: filters, hooks, ssh."""
    # Its pid cannot be reused before it is waited for.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _start(
    cwd: str, arguments: Sequence[str], env: Mapping[str, str], writes: bool, hold: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Starts git in half a millisecond. The event loop's own way takes several, because it forks."""
    try:
        return subprocess.Popen(
            ["git", *arguments],
            cwd=cwd,
            env={**environment(), **env},
            stdin=subprocess.PIPE if writes else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(hold),
            # A process group of its own, so that all of it can be killed.
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if error.filename == cwd or not os.path.isdir(cwd):
            raise GitFailed("git_failed", f"There is no folder {cwd}.") from error
        raise Internal("git_missing", "The program git was not found. Install git and try again.") from error
