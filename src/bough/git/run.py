"""Runs git: keeps it from running a repository's code, limits its time and turns its failures into errors."""

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

import msgspec
import structlog

from bough.errors import Conflict, Internal
from bough.git.paths import real
from bough.git.safe import guard, overrides, permissions
from bough.git.safe.configured import (
    MOST_NAMES,
    QUERY,
    Configured,
    Place,
    filter_name,
    find_place,
    parse,
    remember,
    remembered,
    turned_off,
)

log = structlog.get_logger("bough.git")

# Scanning a very large tree takes seconds; anything longer hangs (a prompt, a dead network drive).
TIMEOUT = 60.0
# Each thread only waits for a process. Pools of their own, so that a hanging git delays nothing else.
THREADS = 16
_free_threads = ThreadPoolExecutor(THREADS, "bough-git-free")
_guarded_threads: ThreadPoolExecutor | None = None
# How soon a thread notices that its caller is gone: processes that git started may keep its pipes open forever.
PAUSE = 0.5
# A killed git is gone at once, unless its disk does not respond.
GRACE = 2.0
CHUNK = 64 * 1024
MOST_NAMED = 5

# Variables that would redirect git, and variables of ours that a repository's hooks must not see.
_HIDDEN = ("GIT_", "BOUGH_", "SSH_ASKPASS")
# The commands that never look into files, so that filters do not matter to them.
_WITHOUT_FILES = frozenset(
    (
        *("branch", "check-ignore", "check-ref-format", "commit-tree", "config", "diff-tree", "for-each-ref"),
        *("hash-object", "init", "log", "ls-files", "ls-tree", "merge-base", "pack-objects", "remote", "rev-list"),
        *("rev-parse", "show", "symbolic-ref", "update-ref", "var", "version", "worktree"),
    )
)


class GitFailed(Conflict):
    """Raised when git fails; the message contains its output."""


class Needs(msgspec.Struct, frozen=True):
    """The programs that a git command needs. Hooks and the network are available only if a person allowed them.

    - `children`: git starts itself, and nothing else that fixed settings do not turn off."""

    hooks: bool = False
    children: bool = False
    network: bool = False


NOTHING = Needs()


class _Way(msgspec.Struct):
    """How one git process is started: its variables, and whether it may start others."""

    env: dict[str, str]
    guarded: bool


def environment() -> dict[str, str]:
    """Returns the environment without variables that would redirect git."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}
    return env | overrides.FIXED


async def git(
    cwd: str,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109
    hold: Sequence[int] = (),
    fine: Sequence[int] = (0,),
    needs: Needs = NOTHING,
) -> str:
    """Runs `git ARGUMENTS` in `cwd` and returns its output. Raises `GitFailed` for exit codes other than 0 and `fine`.
    Git keeps the files `hold` open while it runs, whatever happens to us."""
    way = await _way(cwd, arguments, env or {}, needs)
    out = await _run(_Git(cwd, arguments, way, stdin, hold), timeout, fine)
    return out.decode("utf-8", "surrogateescape")


async def git_head(
    cwd: str,
    limit: int,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109
) -> tuple[bytes, bool]:
    """Returns the first `limit` bytes of git's output, and whether there was more."""
    way = await _way(cwd, arguments, env or {}, NOTHING)
    out = await _run(_Git(cwd, arguments, way, None, (), limit), timeout, (0,))
    return out[:limit], len(out) > limit


async def _way(cwd: str, arguments: Sequence[str], env: Mapping[str, str], needs: Needs) -> _Way:
    """Decides what git may run: nothing of the repository's, unless a person allowed it."""
    reads_files = needs.hooks or _name(arguments) not in _WITHOUT_FILES
    place = find_place(cwd) if reads_files or not permissions.nobody_allowed() else None
    allowed = permissions.allowed(place.location if place is not None else None)
    found = Configured()
    if place is not None and (reads_files or allowed.fetch or needs.network):
        found = await _configured_programs(cwd, place)
    may_fetch = allowed.submodules if needs.network else allowed.fetch
    fetch = may_fetch and not found.transports
    if needs.network and not fetch:
        raise GitFailed("git_failed", _why_offline(may_fetch, found))
    hooks = needs.hooks and allowed.hooks
    settings = {**overrides.SETTINGS, **overrides.NO_COMMAND_LINES}
    variables = {**environment()}
    if not hooks:
        settings |= overrides.NO_HOOKS
    if not hooks and not fetch:
        settings |= overrides.NO_TRANSPORTS
        variables |= overrides.OFFLINE
    settings |= turned_off(found, allowed.programs)
    if permissions.is_registered_bare(cwd):
        variables["GIT_DIR"] = real(cwd)
    guarded = not (needs.children or hooks or fetch or (reads_files and allowed.programs))
    return _Way({**variables, **overrides.as_variables(settings), **env}, guarded)


def _why_offline(allowed: bool, found: Configured) -> str:
    if not allowed:
        return "They are not checked out, because nobody allowed it for this repository (`bough repo git`)."
    names = ", ".join(found.transports[:MOST_NAMED])
    return f"The repository's own configuration changes how to fetch ({names}). Fetch by hand."


async def _configured_programs(cwd: str, place: Place) -> Configured:
    """Returns the programs that the configuration names, asking git only if a file has changed."""
    known = remembered(place.location, place.configuration)
    if known is not None:
        return known
    variables = environment() | overrides.OFFLINE
    settings = overrides.SETTINGS | overrides.NO_HOOKS | overrides.NO_TRANSPORTS
    way = _Way(variables | overrides.as_variables(settings), guarded=True)
    # Exits with 1 if nothing matches.
    text = await _run(_Git(cwd, QUERY, way, None, ()), TIMEOUT, (0, 1))
    found = parse(text.decode("utf-8", "surrogateescape"))
    if len(found.programs) > MOST_NAMES:
        raise GitFailed("git_failed", f"The configuration names more than {MOST_NAMES} filters.")
    remember(place.location, place.configuration, found)
    return found


async def filters_off(cwd: str) -> list[str]:
    """Returns the filters that are configured for a folder and that nobody allowed."""
    programs, allowed = await _programs(cwd)
    return sorted({name for name in map(filter_name, programs) if name} - set(map(filter_name, allowed)))


async def merge_drivers_off(cwd: str) -> list[str]:
    """Returns the merge drivers that are configured for a folder and that nobody allowed."""
    programs, allowed = await _programs(cwd)
    drivers = sorted(name for name in {*programs} - {*allowed} if name.startswith("merge."))
    return [name.removeprefix("merge.").removesuffix(".driver") for name in drivers]


async def _programs(cwd: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Returns the programs that are configured for a folder, and the allowed ones."""
    place = find_place(cwd)
    if place is None:
        return (), {}
    return (await _configured_programs(cwd, place)).programs, permissions.allowed(place.location).programs


def _name(arguments: Sequence[str]) -> str:
    """Returns the name of git's command: the first word that is no option of git itself."""
    words = iter(arguments)
    for word in words:
        if word in ("-c", "-C"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return arguments[0]


class _Git:
    """One git process. A thread starts it and reads its output; the event loop may give it up at any time."""

    def __init__(
        self,
        cwd: str,
        arguments: Sequence[str],
        way: _Way,
        stdin: bytes | None,
        hold: Sequence[int],
        cut: int | None = None,
    ) -> None:
        self.arguments = arguments
        self.way = way
        self.cut = cut
        self.returncode: int | None = None
        self._cwd = cwd
        self._stdin = stdin
        self._hold = hold
        self._given_up = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def talk(self) -> tuple[bytes, bytes]:
        """Starts git and returns its output and errors."""
        with self._lock:
            if self._given_up.is_set():
                return b"", b""
            process = self._process = _start(self._cwd, self.arguments, self.way, self._stdin is not None, self._hold)
        out, err = _talk(process, self._stdin, self.cut, self._given_up)
        self.returncode = process.returncode
        return out, err

    def give_up(self) -> None:
        """Kills git, or keeps it from starting."""
        self._given_up.set()
        with self._lock:
            if self._process is not None:
                _kill(self._process)


async def _run(process: _Git, within: float, fine: Sequence[int]) -> bytes:
    threads = await _pool(process.way.guarded)
    talk: Any = asyncio.get_running_loop().run_in_executor(threads, process.talk)
    name = _name(process.arguments)
    try:
        async with asyncio.timeout(within):
            out, err = await asyncio.shield(talk)
    except BaseException as error:
        process.give_up()
        await asyncio.wait([talk], timeout=GRACE)
        if isinstance(error, TimeoutError):
            raise GitFailed("git_timeout", f"git {name} took longer than {within:.0f} s.") from None
        raise
    if process.returncode not in fine and not (process.cut is not None and len(out) > process.cut):
        said = err.decode("utf-8", "replace").strip()
        raise GitFailed("git_failed", f"git {name} failed: {said or process.returncode}")
    return out


async def _pool(guarded: bool) -> ThreadPoolExecutor:
    """Returns threads for git. Guarded ones cannot start anything but git itself; where the kernel offers no guard, the
    settings alone must do."""
    if not guarded:
        return _free_threads
    global _guarded_threads
    if _guarded_threads is None:
        reason = await asyncio.to_thread(guard.reason_missing)
        if reason is not None:
            log.warning("git_guard_missing", reason=reason)
        if _guarded_threads is None:
            enter = guard.enter if reason is None else None
            _guarded_threads = ThreadPoolExecutor(THREADS, "bough-git", initializer=enter)
    return _guarded_threads


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


def _start(cwd: str, arguments: Sequence[str], way: _Way, writes: bool, hold: Sequence[int]) -> subprocess.Popen[bytes]:
    """Starts git in half a millisecond. The event loop's own way takes several, because it forks."""
    try:
        return subprocess.Popen(
            ["git", *arguments],
            cwd=cwd,
            env=way.env,
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
