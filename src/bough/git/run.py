"""Runs git: keeps it from running a repository's code, limits its time and turns its failures into errors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import structlog

from bough.git.paths import real
from bough.git.process import GitFailed, GitProcess, GitStart, Watch, command
from bough.git.safe import forbid_programs, overrides, permissions
from bough.git.safe.configured_programs import (
    MOST_NAMES,
    QUERY,
    Configured,
    ConfiguredRepository,
    filter_name,
    find_repository,
    parse,
    remember,
    remembered,
    turned_off,
)
from bough.search_path import safe_lists

log = structlog.get_logger("bough.git")

# Scanning a very large tree takes seconds; anything longer hangs (a prompt, a dead network drive).
TIMEOUT = 60.0
# Each thread only waits for a process. Pools of their own, so that a hanging git delays nothing else.
THREADS = 16
_free_threads = ThreadPoolExecutor(THREADS, "bough-git-free")
_lookup_threads = ThreadPoolExecutor(THREADS, "bough-git-lookup")
# Folders whose disk has not responded yet.
_unanswered: set[str] = set()
_guarded_threads: ThreadPoolExecutor | None = None
# A killed git is gone at once, unless its disk does not respond.
GRACE = 2.0
MOST_NAMED = 5

# The ways in which a person's fetch or push may reach another repository.
TRANSPORTS = "file:https:ssh"
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


class Needs(msgspec.Struct, frozen=True):
    """The programs that a git command needs. Hooks and the network are available only if a person allowed them.

    - `children`: git starts itself, and nothing else that fixed settings do not turn off."""

    hooks: bool = False
    children: bool = False
    network: bool = False


NOTHING = Needs()


def environment() -> dict[str, str]:
    """Returns the environment without variables and places of programs that would redirect git."""
    env = {name: value for name, value in safe_lists(os.environ).items() if not name.startswith(_HIDDEN)}
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
    worktree: str | None = None,
) -> str:
    """Runs `git ARGUMENTS` in `cwd` and returns its output. Raises `GitFailed` for exit codes other than 0 and `fine`.
    Git keeps the files `hold` open while it runs, whatever happens to us. It writes only the repository's folders, and
    the `worktree` that it creates or removes."""
    start = await _safe_start(cwd, arguments, env or {}, needs, timeout)
    start.worktree = worktree
    out = await _run(GitProcess(cwd, arguments, start, stdin, hold), timeout, fine)
    return out.decode("utf-8", "surrogateescape")


async def git_head(
    cwd: str,
    limit: int,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109
) -> tuple[bytes, bool]:
    """Returns the first `limit` bytes of git's output, and whether there was more."""
    start = await _safe_start(cwd, arguments, env or {}, NOTHING, timeout)
    out = await _run(GitProcess(cwd, arguments, start, None, (), limit), timeout, (0,))
    return out[:limit], len(out) > limit


async def git_over_network(
    cwd: str,
    *arguments: str,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109
    watch: Watch | None = None,
) -> str:
    """Runs git for a person's own fetch, push or clone, in a repository whose configuration Bough or git wrote. The
    person's programs for ssh and credentials run; a transport that is a command line does not. `watch` gets what git
    writes to its errors."""
    settings = {**overrides.SETTINGS, **overrides.NO_COMMAND_LINES, **overrides.NO_HOOKS}
    variables = {**environment(), **overrides.NO_LAZY_FETCH, "GIT_ALLOW_PROTOCOL": TRANSPORTS}
    variables |= {**overrides.as_variables(settings), **env}
    start = GitStart(variables, guarded=False, confined=False)
    out = await _run(GitProcess(cwd, arguments, start, None, (), watch=watch), timeout, (0,))
    return out.decode("utf-8", "surrogateescape")


async def _safe_start(
    cwd: str, arguments: Sequence[str], env: Mapping[str, str], needs: Needs, within: float
) -> GitStart:
    """Decides what git may run: nothing of the repository's, unless a person allowed it."""
    reads_files = needs.hooks or command(arguments) not in _WITHOUT_FILES
    looks = reads_files or not permissions.nobody_allowed()
    repository = await _find_repository(cwd, within) if looks else None
    allowed = permissions.allowed(repository.location if repository is not None else None)
    configured = Configured()
    if repository is not None and (reads_files or allowed.fetch or needs.network):
        configured = await _configured_programs(cwd, repository)
    may_fetch = allowed.submodules if needs.network else allowed.fetch
    fetch = may_fetch and not configured.transports
    if needs.network and not fetch:
        raise GitFailed("git_failed", _why_offline(may_fetch, configured))
    hooks = needs.hooks and allowed.hooks
    settings = {**overrides.SETTINGS, **overrides.NO_COMMAND_LINES}
    variables = {**environment()}
    if not hooks:
        settings |= overrides.NO_HOOKS
    if not hooks and not fetch:
        settings |= overrides.NO_TRANSPORTS
        variables |= overrides.OFFLINE
    settings |= turned_off(configured, allowed.programs)
    if permissions.is_registered_bare(cwd):
        variables["GIT_DIR"] = real(cwd)
    # What a person allowed may write anywhere.
    confined = not (hooks or fetch or (reads_files and allowed.programs))
    guarded = confined and not needs.children
    return GitStart({**variables, **overrides.as_variables(settings), **env}, guarded, confined)


async def _find_repository(cwd: str, within: float) -> ConfiguredRepository | None:
    """Looks for the repository of a folder. Raises `GitFailed` if its disk does not respond, at once if an earlier look
    still waits for it: such threads cannot be ended and must not use up the pool."""
    if cwd in _unanswered:
        raise GitFailed("git_timeout", f"The disk of {cwd} does not respond.")
    look = asyncio.get_running_loop().run_in_executor(_lookup_threads, find_repository, cwd)
    try:
        async with asyncio.timeout(within):
            return await asyncio.shield(look)
    except TimeoutError:
        _unanswered.add(cwd)
        look.add_done_callback(lambda done: (_unanswered.discard(cwd), done.cancelled() or done.exception()))
        raise GitFailed("git_timeout", f"The disk of {cwd} did not respond within {within:.0f} s.") from None


def _why_offline(allowed: bool, configured: Configured) -> str:
    if not allowed:
        return "They are not checked out, because nobody allowed it for this repository (`bough repo git`)."
    names = ", ".join(configured.transports[:MOST_NAMED])
    return f"The repository's own configuration changes how to fetch ({names}). Fetch by hand."


async def _configured_programs(cwd: str, repository: ConfiguredRepository) -> Configured:
    """Returns the programs that the configuration names, asking git only if a file has changed."""
    known = remembered(repository.location, repository.configuration)
    if known is not None:
        return known
    variables = environment() | overrides.OFFLINE
    settings = overrides.SETTINGS | overrides.NO_HOOKS | overrides.NO_TRANSPORTS
    start = GitStart(variables | overrides.as_variables(settings), guarded=True, confined=True)
    # Exits with 1 if nothing matches.
    text = await _run(GitProcess(cwd, QUERY, start, None, ()), TIMEOUT, (0, 1))
    configured = parse(text.decode("utf-8", "surrogateescape"))
    if len(configured.programs) > MOST_NAMES:
        raise GitFailed("git_failed", f"The configuration names more than {MOST_NAMES} filters.")
    remember(repository.location, repository.configuration, configured)
    return configured


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
    repository = await _find_repository(cwd, TIMEOUT)
    if repository is None:
        return (), {}
    return (await _configured_programs(cwd, repository)).programs, permissions.allowed(repository.location).programs


async def _run(process: GitProcess, within: float, fine: Sequence[int]) -> bytes:
    threads = await _pool(process.start.guarded)
    talk: Any = asyncio.get_running_loop().run_in_executor(threads, process.talk)
    name = command(process.arguments)
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
        stderr = err.decode("utf-8", "replace").strip()
        raise GitFailed("git_failed", f"git {name} failed: {stderr or process.returncode}")
    return out


async def _pool(guarded: bool) -> ThreadPoolExecutor:
    """Returns threads for git. Guarded ones cannot start anything but git itself; where the kernel offers no guard,
    only the settings protect."""
    if not guarded:
        return _free_threads
    global _guarded_threads
    if _guarded_threads is None:
        reason = await asyncio.to_thread(forbid_programs.reason_missing)
        if reason is not None:
            log.warning("git_guard_missing", reason=reason)
        if _guarded_threads is None:
            enter = forbid_programs.enter if reason is None else None
            _guarded_threads = ThreadPoolExecutor(THREADS, "bough-git", initializer=enter)
    return _guarded_threads
