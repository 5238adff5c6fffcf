"""Commits the exact state of a working copy's files without touching its index, branch, stash, configuration or
hooks."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import AsyncGenerator
from functools import lru_cache

import msgspec

from bough.git.paths import real
from bough.git.run import GitFailed, filters_off, git
from bough.git.safe.location import find, is_own
from bough.git.threads import in_thread
from bough.git.working_copy.changed_paths import Scan, scan

# The temporary index is one file, and line ends that git would change are no reason to fail.
QUIET = ("-c", "core.splitIndex=false", "-c", "core.safecrlf=false")
# The same files on the same commit give the same snapshot, whoever takes it and when.
IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "Bough"), ("EMAIL", "bough@localhost"), ("DATE", "@0 +0000"))
}
MESSAGE = "Files as Bough found them.\n"
UNFILTERED = "Unfiltered: "
# Prefix of our temporary indexes, before the process that uses one, and those that this process uses.
SCRATCH = "bough-index-"
IN_USE: set[str] = set()
# Up to this many unreadable files are left out; more means that something else is wrong.
MOST_SKIPPED = 20
# A file that changed this shortly before the scan may change again without a new timestamp.
FRESH = 1_000_000_000

# Bytes of an index that are copied at once.
COPIED_AT_ONCE = 1024 * 1024
# With more changes than this, comparing them saves nothing.
MOST_COMPARED = 2000

_FILTER_FAILED = re.compile(r"(?:clean|smudge) filter '(.+)' failed")
_NOT_READ = re.compile(r"Unable to process path (.+)")


class Snapshot(msgspec.Struct, frozen=True):
    """A commit and its tree, HEAD and branch at that time, whether anything was uncommitted, and what is missing: as a
    note and as the paths that could not be read."""

    sha: str
    tree: str
    head: str | None
    branch: str | None
    dirty: bool = False
    note: str | None = None
    left_out: tuple[str, ...] = ()


class SnapshotLimits(msgspec.Struct, frozen=True):
    """The most uncommitted data that a snapshot may contain."""

    files: int
    bytes: int


class SnapshotTooLarge(Exception):
    """Raised when more than the limits has changed; nothing was stored."""


class Memory(msgspec.Struct):
    """The last snapshot of a working copy and what the scan saw then: the same view means the same snapshot."""

    top: str = ""
    seen: tuple[object, ...] | None = None
    snapshot: Snapshot | None = None


class WorkingCopy(msgspec.Struct, frozen=True):
    """A working copy's top folder and its private part of the repository."""

    top: str
    git_dir: str

    @property
    def env(self) -> dict[str, str]:
        """Returns variables that make git use these folders, whatever its configuration says by then."""
        return {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.top}


async def working_copy(path: str) -> WorkingCopy:
    """Returns the working copy that contains `path`, or raises `GitFailed`."""
    top, git_dir = (await git(path, "rev-parse", "--show-toplevel", "--absolute-git-dir")).rstrip("\n").split("\n")
    location = await asyncio.to_thread(find, path)
    # Files elsewhere would be read and overwritten.
    if location is None or (real(top), real(git_dir)) != (location.top, location.git_dir) or not is_own(location):
        raise GitFailed(
            "git_failed", f"The configuration of {path} names another working copy, {top}. Remove core.worktree there."
        )
    return WorkingCopy(top, git_dir)


@contextlib.asynccontextmanager
async def scratch_index(where: WorkingCopy, *, seeded: bool) -> AsyncGenerator[dict[str, str]]:
    """Yields git's environment with a temporary index, empty or copied from the real one."""
    # Next to the real one, to be on the same disk; with a unique name, so that nobody waits for anybody.
    name = os.path.join(where.git_dir, f"{SCRATCH}{os.getpid()}-{secrets.token_hex(6)}")
    IN_USE.add(name)
    try:
        if seeded:
            with contextlib.suppress(FileNotFoundError):
                await in_thread(_copy_index, os.path.join(where.git_dir, "index"), name)
        yield {**where.env, "GIT_INDEX_FILE": name}
    finally:
        for left in (name, f"{name}.lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)
        IN_USE.discard(name)


def _copy_index(index: str, copy: str) -> None:
    """Copies an index with its timestamp: git trusts an entry only if the file is older than the index. Raises
    `GitFailed` for a link, which an agent may put there at any moment: it could read the copy of a file that is hidden
    from it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        source = os.open(index, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise GitFailed("git_failed", f"{index} is a link. Remove it.") from None
    with open(source, "rb", buffering=0) as old, open(os.open(copy, flags, 0o600), "wb", buffering=0) as new:
        about = os.fstat(source)
        if not stat.S_ISREG(about.st_mode):
            raise GitFailed("git_failed", f"{index} is not a file. Remove it.")
        shutil.copyfileobj(old, new, COPIED_AT_ONCE)
        os.utime(new.fileno(), ns=(about.st_atime_ns, about.st_mtime_ns))


async def take(
    path: str,
    *,
    ignored: bool = False,
    also: tuple[str, ...] = (),
    limits: SnapshotLimits | None = None,
    memory: Memory | None = None,
) -> Snapshot:
    """Commits the files of the working copy at `path` on top of HEAD; returns HEAD itself if nothing is
    uncommitted.

    Takes tracked files as they are on disk and untracked ones; ignored ones on request, or those named in `also`.
    Leaves out nested repositories unless they are submodules. Raises `SnapshotTooLarge` beyond `limits`. With `memory`,
    returns the last snapshot again if nothing has changed."""
    shot = _SnapshotBuilder(path, limits)
    scanned = await shot.scan(ignored)
    memory = memory or Memory()
    shot.count(scanned.changed)
    seen = await asyncio.to_thread(_fingerprint, memory.top, scanned) if memory.seen is not None and not also else None
    if seen is not None and seen == memory.seen and memory.snapshot is not None:
        return memory.snapshot
    if scanned.head is not None and not scanned.lines and not also:
        tree = await _tree_of(path, scanned.head)
        snapshot = Snapshot(scanned.head, tree, scanned.head, scanned.branch)
        memory.seen, memory.snapshot = _fingerprint("", scanned), snapshot
        return snapshot
    memory.seen = None
    where = await working_copy(path)
    memory.top = where.top
    seen = await asyncio.to_thread(_fingerprint, where.top, scanned)
    snapshot = await shot.commit(where, scanned, also)
    if not also and not ignored and seen is not None and not shot.notes:
        memory.seen, memory.snapshot = seen, snapshot
    return snapshot


class _SnapshotBuilder:
    """One snapshot in progress: what had to be turned off or left out for it."""

    def __init__(self, path: str, limits: SnapshotLimits | None) -> None:
        self._path = path
        self._limits = limits
        self.unfiltered: list[str] = []
        self.left_out: list[str] = []

    @property
    def quiet(self) -> tuple[str, ...]:
        return (*QUIET, *without_filters(self.unfiltered))

    @property
    def notes(self) -> list[str]:
        notes = [f"The filter {name} failed; its files are stored unfiltered." for name in self.unfiltered]
        if self.left_out:
            notes.append(f"Could not be read and are left out: {', '.join(self.left_out)}.")
        return notes

    def without_filter(self, error: GitFailed) -> bool:
        """Tells whether to try again without a filter that failed."""
        match = _FILTER_FAILED.search(error.message)
        if match is None or match[1] in self.unfiltered:
            return False
        self.unfiltered.append(match[1])
        return True

    def count(self, paths: list[str]) -> None:
        if self._limits is not None and len(paths) > self._limits.files:
            raise SnapshotTooLarge(f"{len(paths)} files are not committed; {self._limits.files} are the limit.")

    async def scan(self, ignored: bool) -> Scan:
        while True:
            try:
                return await scan(self._path, self.quiet, ignored=ignored)
            except GitFailed as error:
                if not self.without_filter(error):
                    raise

    async def commit(self, where: WorkingCopy, scanned: Scan, also: tuple[str, ...]) -> Snapshot:
        changed, gone = await asyncio.to_thread(split_missing, where.top, [*scanned.changed, *also])
        if (
            self._limits is not None
            and (size := await asyncio.to_thread(_size, where.top, changed)) > self._limits.bytes
        ):
            raise SnapshotTooLarge(
                f"{size} bytes in {len(changed)} files are not committed; {self._limits.bytes} are the limit."
            )
        async with scratch_index(where, seeded=True) as env:
            if gone:
                await self._index(where, env, gone, "--force-remove")
            if changed:
                await self._index(where, env, changed, "--add", "--remove", "--replace")
            # A partial clone lacks objects that did not change.
            tree = (await git(where.top, *self.quiet, "write-tree", "--missing-ok", env=env)).strip()
        if scanned.head is not None and tree == await _tree_of(where.top, scanned.head):
            sha = scanned.head
        else:
            parent = ("-p", scanned.head) if scanned.head else ()
            off = [*self.unfiltered, *await filters_off(where.top)]
            message = MESSAGE + "".join(f"\n{UNFILTERED}{name}" for name in dict.fromkeys(off))
            sha = (
                await git(where.top, *QUIET, "commit-tree", tree, *parent, env=IDENTITY, stdin=message.encode())
            ).strip()
        note = " ".join(self.notes) or None
        return Snapshot(sha, tree, scanned.head, scanned.branch, bool(scanned.lines), note, tuple(self.left_out))

    async def _index(self, where: WorkingCopy, env: dict[str, str], paths: list[str], *how: str) -> None:
        """Updates paths in the index to what is on disk, leaving out what cannot be read."""
        while paths:
            stdin = listed(paths)
            try:
                await git(where.top, *self.quiet, "update-index", *how, "-z", "--stdin", env=env, stdin=stdin)
                return
            except GitFailed as error:
                if self.without_filter(error):
                    continue
                match = _NOT_READ.search(error.message)
                if match is None or match[1] not in paths or len(self.left_out) == MOST_SKIPPED:
                    raise
                self.left_out.append(match[1])
                paths = [path for path in paths if path != match[1]]


def listed(paths: list[str]) -> bytes:
    """Encodes paths for git's -z input."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def without_filters(names: list[str]) -> tuple[str, ...]:
    """Returns settings that turn filters off."""
    parts = ("required=false", "clean=", "smudge=", "process=")
    return tuple(word for name in names for part in parts for word in ("-c", f"filter.{name}.{part}"))


def split_missing(top: str, paths: list[str]) -> tuple[list[str], list[str]]:
    """Splits the paths into those that exist as files, links or submodules, and those that are gone."""
    changed: list[str] = []
    missing: list[str] = []
    links: dict[str, bool] = {"": False}

    def beyond_a_link(folder: str) -> bool:
        if folder not in links:
            links[folder] = beyond_a_link(os.path.dirname(folder)) or os.path.islink(os.path.join(top, folder))
        return links[folder]

    for path in dict.fromkeys(paths):
        # A folder that became a link: what git knows behind it is gone, even if the link leads somewhere.
        there = not beyond_a_link(os.path.dirname(path)) and os.path.lexists(os.path.join(top, path))
        (changed if there else missing).append(path)
    return changed, missing


def _size(top: str, paths: list[str]) -> int:
    size = 0
    for path in paths:
        with contextlib.suppress(OSError):
            size += os.lstat(os.path.join(top, path)).st_size
    return size


def _fingerprint(top: str, scanned: Scan) -> tuple[object, ...] | None:
    """Returns what tells whether anything has changed: git's own output and the timestamps of everything it only
    names."""
    if len(scanned.changed) > MOST_COMPARED:
        return None
    facts: list[object] = [scanned.text]
    for path in scanned.changed:
        try:
            about = os.lstat(os.path.join(top, path))
        except OSError:
            facts.append(None)
            continue
        if stat.S_ISDIR(about.st_mode) or max(about.st_ctime_ns, about.st_mtime_ns) > scanned.at - FRESH:
            return None
        facts.append((about.st_ino, about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    return tuple(facts)


async def _tree_of(path: str, sha: str) -> str:
    known = _trees(path).get(sha)
    if known is None:
        known = (await git(path, "rev-parse", "--verify", f"{sha}^{{tree}}")).strip()
        _trees(path).clear()
        _trees(path)[sha] = known
    return known


@lru_cache(256)
def _trees(_path: str) -> dict[str, str]:
    """Caches the tree of the commit that a working copy was last on; commits never change."""
    return {}
