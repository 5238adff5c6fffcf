"""Starts one git process and reads its output in a thread, which the event loop may give up at any time."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeVar

import msgspec

from bough.errors import Conflict, Internal
from bough.git.safe import landlock, opened_paths, written_paths

T = TypeVar("T")

# How soon a thread notices that its caller is gone: processes that git started may keep its pipes open forever.
PAUSE = 0.5
CHUNK = 64 * 1024
# Bytes of its errors that are kept if they are watched.
KEPT_ERRORS = 16 * 1024

# Gets what git writes to its errors, such as its progress, in the thread that reads it.
Watch = Callable[[bytes], None]


class GitFailed(Conflict):
    """Raised when git fails; the message contains its output."""


def command(arguments: Sequence[str]) -> str:
    """Returns the name of git's command: the first word that is no option of git itself."""
    words = iter(arguments)
    for word in words:
        if word in ("-c", "-C"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return arguments[0]


class GitStart(msgspec.Struct):
    """The variables of one git process, whether it is kept from starting others, and from writing elsewhere.

    - `worktree`: the folder that git creates or removes beside those of its repository."""

    env: dict[str, str]
    guarded: bool
    confined: bool
    worktree: str | None = None


class GitProcess:
    """One git process. A thread starts it and reads its output; the event loop may give it up at any time."""

    def __init__(
        self,
        cwd: str,
        arguments: Sequence[str],
        start: GitStart,
        stdin: bytes | None,
        hold: Sequence[int],
        cut: int | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.arguments = arguments
        self.start = start
        self.cut = cut
        self.watch = watch
        self.returncode: int | None = None
        self._cwd = cwd
        self._stdin = stdin
        self._hold = hold
        self._given_up = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._limited = False

    def talk(self) -> tuple[bytes, bytes]:
        """Starts git and returns its output and errors."""
        self._limited = (
            self.start.confined and landlock.version() > 0 and written_paths.landlock_works(self._cwd, self.start.env)
        )
        self._refuse_links()
        with self._lock:
            if self._given_up.is_set():
                return b"", b""
            process = self._process = self._started()
        if self._given_up.is_set():
            # `give_up` did not wait for the lock.
            _kill(process)
        out, err = _talk(process, self._stdin, self.cut, self._given_up, self.watch)
        self.returncode = process.returncode
        return out, err

    def _refuse_links(self) -> None:
        """Raises `GitFailed` if git would work in another repository, or write through a link."""
        name = command(self.arguments)
        reason = written_paths.why_refused(self._cwd, self.start.env)
        if reason is not None:
            raise GitFailed("git_failed", f"{reason}; git {name} was not run.")
        if name == "worktree" and "list" in self.arguments:
            # It only reads.
            return
        link = written_paths.link_out(self._cwd, name, self.start.env, limited=self._limited)
        if link is not None:
            raise GitFailed(
                "git_failed",
                f"{link} is a link that leads out of the repository's refs, so git {name} was not run. Remove the "
                "link, or add its target to the setting sandbox_write.",
            )

    def _started(self) -> subprocess.Popen[bytes]:
        def start() -> subprocess.Popen[bytes]:
            return _popen(self._cwd, self.arguments, self.start, self._stdin is not None, self._hold)

        if not self._limited:
            return start()
        return _in_limits(written_paths.rights(self._cwd, self.start.env, self.start.worktree), start)

    def give_up(self) -> None:
        """Kills git, or keeps it from starting. Never waits: a disk that does not respond may hold up the start."""
        self._given_up.set()
        if self._lock.acquire(blocking=False):
            try:
                if self._process is not None:
                    _kill(self._process)
            finally:
                self._lock.release()


def _in_limits(rights: Mapping[str, int], start: Callable[[], T]) -> T:
    """Calls a function in a thread of its own, because a limited thread stays so."""
    result: Future[T] = Future()

    def work() -> None:
        try:
            try:
                landlock.enter(rights, opened_paths.opened())
            except OSError as error:
                raise GitFailed("git_failed", f"git was not run: {error}") from error
            result.set_result(start())
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=work, name="bough-git-limited")
    thread.start()
    thread.join()
    return result.result()


def _talk(
    process: subprocess.Popen[bytes],
    stdin: bytes | None,
    cut: int | None,
    given_up: threading.Event,
    watch: Watch | None,
) -> tuple[bytes, bytes]:
    """Reads git's output and errors until it exits, exceeds the limit or is given up. If somebody watches its errors,
    only the end of them is kept: what the other side writes has no limit."""
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
                        if watch is not None and key.data is err:
                            watch(chunk)
                            del err[:-KEPT_ERRORS]
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


def _popen(
    cwd: str, arguments: Sequence[str], start: GitStart, writes: bool, hold: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Starts git in half a millisecond. The event loop's own way takes several, because it forks."""
    try:
        return subprocess.Popen(
            ["git", *arguments],
            cwd=cwd,
            env=start.env,
            stdin=subprocess.PIPE if writes else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(hold),
            # A process group of its own, so that all of it can be killed.
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        if error.filename == cwd or not os.path.isdir(cwd):
            raise GitFailed("git_failed", f"There is no folder {cwd}.") from error
        raise Internal("git_missing", "The program git was not found. Install git and try again.") from error
