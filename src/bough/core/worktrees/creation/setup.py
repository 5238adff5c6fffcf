"""Sets up a new worktree: submodules, ignored files from the working copy, the repository's own command. Failures are
reported and never fatal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from bough.core.worktrees.command_box import SHELL, CommandStart
from bough.core.worktrees.config.include import ignored_files
from bough.core.worktrees.config.read import is_configured
from bough.core.worktrees.creation.allowed_setup import AllowedSetup
from bough.core.worktrees.creation.copy_files import copy_files
from bough.errors import Invalid
from bough.git.decode import shown
from bough.git.paths import is_there, real
from bough.git.run import GitFailed, Needs, environment, git
from bough.model.repo import Repo

# Submodules are cloned over a network.
SUBMODULES_WITHIN = 600.0
# The end of a command's output says why it failed.
TAIL = 8 * 1024
# How often watchers are shown more output.
SHOW_EVERY = 1.0
# After the polite signal; then the process is killed.
GRACE = 3.0
Show = Callable[[str], Awaitable[None]]


class SetupResult(msgspec.Struct):
    """The errors, and the end of the command's output."""

    error: str | None
    output: str | None


def is_needed(repo: Repo, path: str) -> bool:
    """Tells whether there is anything to set up."""
    configured = bool(_words(repo.setup) or _words(repo.copy_ignored)) or is_configured(path, repo.path)
    return configured or is_there(path, ".gitmodules")


def _words(raw: msgspec.Raw) -> list[str]:
    return msgspec.json.decode(bytes(raw), type=list[str])


async def set_up(
    repo: Repo,
    path: str,
    within: float,
    show: Show,
    own: AllowedSetup | None = None,
    env: Mapping[str, str] | None = None,
) -> SetupResult:
    """Runs all steps in order: first what people set for the repository, then what they allowed of its own files. A
    failed step does not prevent the others. `env` is added to the environment of commands."""
    own = own or AllowedSetup()
    errors: list[str] = [*own.errors]
    outputs: list[str] = []
    if is_there(path, ".gitmodules"):
        try:
            words = ("submodule", "--quiet", "update", "--init", "--recursive", "--checkout")
            await git(path, *words, timeout=SUBMODULES_WITHIN, needs=Needs(network=True))
        except GitFailed as error:
            errors.append(f"Submodules: {error.message}")
    for copying in (_copy_globs(repo, path), _copy_patterns(repo, path, own.copies)):
        try:
            await copying
        except (GitFailed, Invalid) as error:
            errors.append(f"Ignored files: {error.message}")
        except OSError as error:
            errors.append(f"Ignored files: {error}")
    commands: list[tuple[list[str], CommandStart | None]] = []
    if command := _words(repo.setup):
        commands.append((command, None))
    commands += [([SHELL, "-c", command], own.start) for command in own.commands]
    for command, start in commands:
        failure, output = await run(command, path, within, show, start, env)
        outputs += [output] if output else []
        if failure:
            errors.append(failure)
            if start is not None:
                # Later commands build on earlier ones.
                break
    joined = "\n".join(outputs)[-TAIL:]
    return SetupResult(_short("\n".join(errors)) if errors else None, joined or None)


async def _copy_globs(repo: Repo, path: str) -> None:
    if globs := _words(repo.copy_ignored):
        await copy_ignored(repo.path, path, globs)


async def _copy_patterns(repo: Repo, path: str, patterns: list[str]) -> None:
    if patterns:
        names = await ignored_files(repo.path, patterns)
        await asyncio.to_thread(copy_files, repo.path, real(path), names)


def _short(text: str) -> str:
    clean = shown(text)
    return clean if len(clean) <= TAIL else clean[:TAIL] + " …"


async def copy_ignored(source: str, target: str, globs: list[str]) -> None:
    """Copies matching ignored files, keeping links as links. Existing files stay."""
    try:
        names = await git(
            *(source, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"),
            *(f":(glob){glob}" for glob in globs),
            ":(exclude,top).worktrees",
        )
    except GitFailed as error:
        # A bare repository has no files to copy.
        if "must be run in a work tree" in error.message:
            return
        raise
    files = [name for name in names.split("\0") if name and not name.endswith("/")]
    await asyncio.to_thread(copy_files, source, real(target), files)


async def run(
    command: list[str],
    path: str,
    within: float,
    show: Show,
    start: CommandStart | None = None,
    extra: Mapping[str, str] | None = None,
) -> tuple[str | None, str | None]:
    """Runs the command in the worktree, as `start` says if it is the repository's own. Returns its error and the end of
    its output. Leaves no process behind."""
    if start is None:
        env = {name: value for name, value in environment().items() if not name.startswith(("GIT_", "AGENT_"))}
        env |= extra or {}
    else:
        env = start.env
    name = command[-1] if start is not None else command[0]
    try:
        process = await asyncio.create_subprocess_exec(
            *(start.box if start is not None else ()),
            *command,
            cwd=path,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return f"The setup command {name!r} could not be started: {error.strerror}.", None
    tail = _Tail(show)
    reading = asyncio.create_task(tail.read(process.stdout))
    error_text: str | None = None
    try:
        async with asyncio.timeout(within):
            code = await process.wait()
        if code:
            error_text = f"The setup command {name!r} exited with {code}."
    except TimeoutError:
        error_text = f"The setup command {name!r} took longer than {within:g} s and was stopped."
    finally:
        await asyncio.shield(_end(process, reading))
    return error_text, tail.text or None


async def _end(process: asyncio.subprocess.Process, reading: asyncio.Task[None]) -> None:
    """Kills what the command left running and reads the rest of its output."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None and number is signal.SIGTERM:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
    await asyncio.wait([reading], timeout=GRACE)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading


class _Tail:
    """Keeps the end of a growing output."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._bytes = b""
        self._shown_at = 0.0

    @property
    def text(self) -> str:
        cut = self._bytes[-TAIL:]
        return cut.decode("utf-8", "replace").replace("\0", "�")

    async def read(self, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        clock = asyncio.get_running_loop().time
        while piece := await stream.read(64 * 1024):
            self._bytes = (self._bytes + piece)[-2 * TAIL :]
            if clock() - self._shown_at >= SHOW_EVERY:
                self._shown_at = clock()
                await self._show(self.text)
