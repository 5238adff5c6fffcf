"""Restores the files of a working copy to a snapshot: plans what to write and remove, and checks the whole plan before
touching anything. Index, branch and ignored files stay."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Generator, Iterable

import msgspec

from bough.errors import Conflict, Invalid
from bough.git.decode import lines, shown
from bough.git.paths import open_folder
from bough.git.run import GitFailed, git
from bough.git.threads import in_thread
from bough.git.working_copy.snapshot import (
    QUIET,
    UNFILTERED,
    Snapshot,
    WorkingCopy,
    listed,
    scratch_index,
    take,
    without_filters,
    working_copy,
)

# For writing every file of a large working copy.
WITHIN = 600.0
GITLINK = "160000"
ABSENT = "000000"
MOST_NAMED = 20
# Files that a sparse checkout hides must be visible here.
_WHOLE = ("-c", "core.sparseCheckout=false", "-c", "index.sparse=false")


class ChangedPath(msgspec.Struct, frozen=True):
    """A path that differs between two trees, with its modes in both."""

    path: str
    before: str
    after: str


class RestorePlan(msgspec.Struct):
    """The paths to write and to remove, the paths left alone, and the state it starts from."""

    working_copy: WorkingCopy
    now: Snapshot
    target: str
    writes: list[str]
    removes: list[str]
    left: list[str]

    @property
    def paths(self) -> list[str]:
        return sorted({*self.writes, *self.removes})


async def plan(path: str, target: str, only: Iterable[str] | None = None) -> RestorePlan:
    """Plans how to restore `path` to the commit `target`: everything, or only the paths in `only` and below. Raises
    `Conflict` if something that must not be touched is in the way."""
    where = await working_copy(path)
    chosen = None if only is None else [checked_path(entry) for entry in only]
    now = await take(path)
    entries = await _between(where, now.sha, target, chosen)
    # Files that are ignored now but were not then: the snapshot includes them so that their contents are not lost.
    hidden = await in_thread(_files_among, where.top, [entry.path for entry in entries if entry.before == ABSENT])
    if hidden:
        now = await take(path, also=hidden)
        entries = await _between(where, now.sha, target, chosen)
    result = RestorePlan(where, now, target, [], [], [])
    await in_thread(_sort_in, result, entries)
    if any(os.path.basename(entry.path) == ".gitignore" for entry in entries):
        then = await _ignored_then(where, target, result.removes)
        result.left += [entry for entry in result.removes if entry in then]
        result.removes = [entry for entry in result.removes if entry not in then]
    await in_thread(_check, result)
    return result


def _sort_in(result: RestorePlan, entries: list[ChangedPath]) -> None:
    for entry in entries:
        on_disk = os.path.lexists(os.path.join(result.working_copy.top, entry.path))
        if GITLINK in (entry.before, entry.after) or (not on_disk and ABSENT not in (entry.before, entry.after)):
            # Submodules have their own history, and a tracked file missing on disk is left out by a sparse checkout.
            result.left.append(entry.path)
        elif entry.after != ABSENT:
            result.writes.append(entry.path)
        elif on_disk:
            result.removes.append(entry.path)


async def apply(planned: RestorePlan) -> None:
    """Carries out a plan. If it fails halfway, undoes what was done as far as possible."""
    await in_thread(_check, planned)
    try:
        await _carry_out(planned.working_copy, planned.target, planned.writes, planned.removes)
    except (OSError, GitFailed) as error:
        back = await _between(planned.working_copy, planned.target, planned.now.sha, planned.paths)
        writes = [path.path for path in back if path.after not in (ABSENT, GITLINK)]
        with contextlib.suppress(OSError, GitFailed):
            await _carry_out(
                planned.working_copy, planned.now.sha, writes, [path.path for path in back if path.after == ABSENT]
            )
        raise Conflict("restore_failed", f"The files could not be restored: {_reason(error)}.") from error


def checked_path(path: str) -> str:
    """Validates a path inside the working copy and returns git's spelling of it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path or ".git" in parts[:1]:
        raise Invalid(
            "bad_path", f"{path!r} is not a path inside the working copy. Use a path relative to its top folder."
        )
    return "/".join(parts)


async def differences(path: str, old: str, new: str, only: Iterable[str] | None = None) -> tuple[list[str], list[str]]:
    """Returns the paths that have to be written and those that have to be removed to get from one commit to another."""
    chosen = None if only is None else [checked_path(entry) for entry in only]
    entries = await _between(await working_copy(path), old, new, chosen)
    writes = [entry.path for entry in entries if entry.after not in (ABSENT, GITLINK)]
    return writes, [entry.path for entry in entries if entry.after == ABSENT]


def empty_or_missing(planned: RestorePlan) -> set[str]:
    """Returns the planned files that are empty or missing now, as a restore leaves them that was killed while it wrote
    them."""
    paths: set[str] = set()
    for path in planned.writes:
        try:
            size = os.lstat(os.path.join(planned.working_copy.top, path)).st_size
        except FileNotFoundError:
            size = 0
        if size == 0:
            paths.add(path)
    return paths


async def changed_paths(path: str, old: str, new: str) -> set[str]:
    """Returns the paths that differ between two commits."""
    return {entry.path for entry in await _between(await working_copy(path), old, new, None)}


async def _carry_out(where: WorkingCopy, target: str, writes: list[str], removes: list[str]) -> None:
    await in_thread(_remove, where.top, removes)
    if not writes:
        return
    unfiltered = without_filters(await _unfiltered(where, target))
    async with scratch_index(where, seeded=False) as env:
        await git(where.top, *QUIET, *_WHOLE, "read-tree", target, env=env, timeout=WITHIN)
        words = (*QUIET, *_WHOLE, *unfiltered, "checkout-index", "--force", "--quiet", "-z", "--stdin")
        await git(where.top, *words, env=env, stdin=listed(writes), timeout=WITHIN)


def _remove(top: str, paths: list[str]) -> None:
    emptied: set[str] = set()
    for path in sorted(paths, reverse=True):
        folder, _, name = path.rpartition("/")
        try:
            with _opened(top, folder) as opened:
                os.unlink(name, dir_fd=opened)
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            _refuse_links(top, path, set())
            raise
        emptied.add(folder)
    for folder in sorted(emptied, reverse=True):
        _remove_empty(top, folder)


def _remove_empty(top: str, folder: str) -> None:
    """Removes a folder that became empty, and the parents that become empty with it."""
    while folder:
        above, _, name = folder.rpartition("/")
        try:
            with _opened(top, above) as opened:
                os.rmdir(name, dir_fd=opened)
        except OSError:
            return
        folder = above


@contextlib.contextmanager
def _opened(top: str, folder: str) -> Generator[int]:
    """Opens a folder by no link: an agent could put one there right after a check, to have others' files removed."""
    opened = open_folder(top, folder)
    try:
        yield opened
    finally:
        os.close(opened)


async def _between(where: WorkingCopy, old: str, new: str, only: list[str] | None) -> list[ChangedPath]:
    text = await git(where.top, "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new, timeout=WITHIN)
    words = iter(text.split("\0"))
    changed: list[ChangedPath] = []
    for about in words:
        if about:
            before, after, *_ = about.removeprefix(":").split(" ")
            changed.append(ChangedPath(next(words), before, after))
    if only is None or "" in only:
        return changed
    selected = set(only)
    return [item for item in changed if not selected.isdisjoint(_self_and_above(item.path))]


def _self_and_above(path: str) -> list[str]:
    """Returns `a/b/c`, `a/b`, `a`."""
    result: list[str] = []
    while path:
        result.append(path)
        path = os.path.dirname(path)
    return result


def _files_among(top: str, paths: list[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if _is_file(top, path))


def _is_file(top: str, path: str) -> bool:
    full = os.path.join(top, path)
    if any(os.path.islink(os.path.join(top, item)) for item in _self_and_above(path)[1:]):
        return False
    return os.path.islink(full) or os.path.isfile(full)


async def _ignored_then(where: WorkingCopy, target: str, paths: list[str]) -> set[str]:
    """Returns the paths that the snapshot's own rules ignore: it does not hold them although they may have existed."""
    names = (await git(where.top, "ls-tree", "-r", "-z", "--name-only", target)).split("\0")
    rules = [name for name in names if os.path.basename(name) == ".gitignore"]
    if not paths:
        return set()
    with tempfile.TemporaryDirectory(prefix="bough-rules-") as folder:
        async with scratch_index(where, seeded=False) as env:
            env |= {"GIT_DIR": where.git_dir, "GIT_WORK_TREE": folder}
            await git(where.top, *QUIET, *_WHOLE, "read-tree", target, env=env)
            if rules:
                words = (*QUIET, *_WHOLE, "checkout-index", "--force", "-z", "--stdin")
                await git(folder, *words, env=env, stdin=listed(rules))
            try:
                words = ("check-ignore", "--no-index", "-z", "--stdin")
                return set((await git(folder, *words, env=env, stdin=listed(paths))).split("\0"))
            except GitFailed as error:
                # Exits with 1 and no output if none of them is ignored.
                if error.message.endswith(": 1"):
                    return set()
                raise


async def _unfiltered(where: WorkingCopy, sha: str) -> list[str]:
    """Returns the filters that were off when the snapshot was taken."""
    body = await git(where.top, "show", "--no-patch", "--format=%B", sha)
    return [line.removeprefix(UNFILTERED) for line in lines(body) if line.startswith(UNFILTERED)]


def _check(plan: RestorePlan) -> None:
    """Refuses a plan that would follow a link or overwrite files that nothing holds."""
    unread = [shown(item) for item in plan.paths if item in plan.now.left_out]
    if unread:
        raise Conflict(
            "files_not_kept",
            f"These files cannot be read, so their contents would be lost: {', '.join(unread)}. Make them readable, "
            "move them, or choose other paths.",
            paths=unread,
        )
    removes = set(plan.removes)
    in_the_way: list[str] = []
    for path in plan.writes:
        _refuse_links(plan.working_copy.top, path, removes)
        in_the_way += _in_the_way(plan.working_copy.top, path, removes)
    for path in plan.removes:
        _refuse_links(plan.working_copy.top, path, removes)
    if in_the_way:
        named = [shown(item) for item in in_the_way[:MOST_NAMED]]
        raise Conflict(
            "files_in_the_way",
            f"{len(in_the_way)} ignored files are where others would be written: {', '.join(named)}. Move them away.",
            paths=named,
        )


def _refuse_links(top: str, path: str, removes: set[str]) -> None:
    for above in _above(path):
        if above in removes:
            # Whatever is below it now goes with it.
            return
        if os.path.islink(os.path.join(top, above)):
            raise Conflict(
                "link_in_the_way",
                f"{shown(above)} is a link now, and {shown(path)} would be reached through it. Remove the link first.",
                path=shown(above),
            )


def _above(path: str) -> list[str]:
    """Returns the folders that contain a path, outermost first."""
    return _self_and_above(path)[:0:-1]


def _in_the_way(top: str, path: str, removes: set[str]) -> list[str]:
    """Returns what is not part of the current snapshot and would be lost by writing `path`."""
    for above in _above(path):
        if above in removes:
            return []
        full = os.path.join(top, above)
        if os.path.islink(full) or (os.path.lexists(full) and not os.path.isdir(full)):
            return [above]
    full = os.path.join(top, path)
    if os.path.islink(full) or not os.path.isdir(full):
        return []
    inside: list[str] = []
    for folder, _, files in os.walk(full):
        inside += [os.path.relpath(os.path.join(folder, file), top) for file in files]
    return [item for item in inside if item not in removes]


def _reason(error: OSError | GitFailed) -> str:
    return error.message if isinstance(error, GitFailed) else str(error.strerror or error)
