"""Keeps the contents of a removed worktree on refs that outlive it, and restores them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from bough.git.decode import lines
from bough.git.paths import is_there, quoted, relative
from bough.git.run import GitFailed, git
from bough.git.working_copy.snapshot import IDENTITY, QUIET, scratch_index, take, working_copy
from bough.git.working_copy.status import files, own_submodules
from bough.git.worktrees import resolve

# For reading or writing every file of a large working copy.
WITHIN = 600.0
PREFIX = "refs/bough/recovery"
# Next to it: nested repositories of the worktree, whose own data goes with it. Each has a number, and below that its
# `files`, `heads`, `tags` and `stash`.
INNER = "refs/bough/recovery-inner"
# What a snapshot reports about unreadable files.
LEFT_OUT = "are left out"
# Dated now: git cannot read a reflog entry from 1970.
_WHO = {name: value for name, value in IDENTITY.items() if not name.endswith("DATE")}


class Kept(msgspec.Struct, frozen=True):
    """The ref and the commit that hold a worktree's files, and further refs that hold more."""

    ref: str
    sha: str
    inner: list[str] = []


async def keep_all(path: str, worktree_id: str, message: str, earlier: str | None = None) -> Kept:
    """Keeps the files of a worktree and every nested repository with its branches, tags and stash. Raises if something
    cannot be kept. `earlier` is the commit of a removal that was cut off: of its files nothing is lost, although some
    may be gone from the folder."""
    sha, ref = await _snapshot(path, message), f"{PREFIX}/{worktree_id}"
    inner: list[str] = []
    # What an earlier removal kept stays.
    refs = lines(await git(path, "for-each-ref", "--format=%(refname)", f"{INNER}/{worktree_id}"))
    first = 1 + max((int(item.split("/")[4]) for item in refs), default=0)
    if earlier is not None and await resolve(path, earlier) is not None:
        if await _has_all(path, earlier, sha):
            sha = earlier
        else:
            inner.append(f"{INNER}/{worktree_id}/{first}/files")
            await _keep(path, inner[0], earlier)
            first += 1
    await _keep(path, ref, sha)
    for number, repository in enumerate(await _repositories(path), first):
        own = f"{INNER}/{worktree_id}/{number}"
        inner += await _keep_inner(path, repository, own, f"{message}, in {relative(repository, path)}")
    return Kept(ref, sha, inner)


async def _has_all(path: str, earlier: str, later: str) -> bool:
    """Returns whether a snapshot has everything that a later one on the same commit has."""
    if await resolve(path, f"{earlier}^1") != await resolve(path, f"{later}^1"):
        return False
    words = ("diff-tree", "-r", "-z", "--name-status", "--no-renames", earlier, later)
    states = (await git(path, *words, timeout=WITHIN)).split("\0")[:-1:2]
    return all(state == "D" for state in states)


async def _keep_inner(path: str, inner: str, own: str, message: str) -> list[str]:
    """Copies a nested repository to refs below `own`."""
    refs = {f"{own}/files": await _snapshot(inner, message)}
    flags = ("--git-dir", "--git-common-dir", "--is-shallow-repository", "--show-object-format")
    git_dir, common, shallow, form = await _facts(inner, *flags)
    if shallow == "true" or [form] != await _facts(path, "--show-object-format"):
        raise GitFailed("git_failed", f"The history of {inner} cannot be kept: it is shallow or has another format.")
    # The worktree of a repository elsewhere has nothing else to lose.
    if git_dir == common:
        words = ("log", "--walk-reflogs", "--format=%H", "--ignore-missing", "refs/stash", "--")
        refs |= {f"{own}/stash/{number}": sha for number, sha in enumerate((await git(inner, *words)).split())}
        words = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
        for line in lines(await git(inner, *words)):
            sha, _, ref = line.partition(" ")
            refs[f"{own}/{ref.removeprefix('refs/')}"] = sha
    await _copy_objects(inner, path, refs.values())
    stdin = "".join(f"update {ref}\0{sha}\0\0" for ref, sha in refs.items())
    await git(path, *QUIET, "update-ref", "--no-deref", "-z", "--stdin", stdin=stdin.encode("utf-8", "surrogateescape"))
    named = ("for-each-ref", "--format=%(refname)", f"--no-merged={own}/files", f"{own}/heads", f"{own}/stash")
    return [f"{own}/files", *lines(await git(path, *named))]


async def _facts(path: str, *flags: str) -> list[str]:
    return (await git(path, "rev-parse", "--path-format=absolute", *flags)).rstrip("\n").split("\n")


async def _copy_objects(source: str, target: str, shas: Iterable[str]) -> None:
    """Copies commits with everything they need into another repository, as one pack. Unlike `git fetch`, this starts no
    program."""
    (old,) = await _facts(source, "--git-path", "objects")
    (new,) = await _facts(target, "--git-path", "objects")
    env = {"GIT_OBJECT_DIRECTORY": new, "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted(old)}
    words = ("pack-objects", "--quiet", "--revs", "--non-empty", os.path.join(new, "pack", "pack"))
    stdin = "".join(f"{sha}\n" for sha in dict.fromkeys(shas)).encode()
    await git(source, *QUIET, *words, env=env, stdin=stdin, timeout=WITHIN)


async def drop(repo: str, worktree_id: str) -> None:
    """Deletes everything kept of a worktree."""
    named = ("for-each-ref", "--format=%(refname)", f"{PREFIX}/{worktree_id}", f"{INNER}/{worktree_id}")
    stdin = "".join(f"delete {ref}\n" for ref in lines(await git(repo, *named)))
    if stdin:
        await git(repo, *QUIET, "update-ref", "--no-deref", "--stdin", stdin=stdin.encode("utf-8", "surrogateescape"))


async def keep_commit(repo: str, worktree_id: str, sha: str, message: str, earlier: str | None = None) -> Kept:
    """Keeps the commit of a worktree whose files are already gone. `earlier` is the commit of a removal that was cut
    off."""
    ref = f"{PREFIX}/{worktree_id}"
    if earlier is not None and await resolve(repo, f"{earlier}^1") == sha:
        # It has already kept the files on top of it.
        await _keep(repo, ref, earlier)
        return Kept(ref, earlier)
    tree = (await git(repo, "rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}")).strip()
    commit = await _commit(repo, tree, sha, message)
    await _keep(repo, ref, commit)
    return Kept(ref, commit)


async def restore(path: str, sha: str) -> None:
    """Writes a snapshot's files into a fresh working copy as uncommitted changes. HEAD and index stay."""
    async with scratch_index(await working_copy(path), seeded=True) as env:
        # From one tree to the other: deletes what only the first has.
        await git(path, *QUIET, "read-tree", "-m", "-u", "HEAD", sha, env=env, timeout=WITHIN)


async def _snapshot(path: str, message: str) -> str:
    """Commits the files on top of HEAD even if nothing is uncommitted, so that the parent is always HEAD."""
    shot = await take(path)
    if shot.note is not None and LEFT_OUT in shot.note:
        raise GitFailed("git_failed", f"Not everything in {path} can be kept. {shot.note}")
    return await _commit(path, shot.tree, shot.head, message)


async def _commit(path: str, tree: str, parent: str | None, message: str) -> str:
    above = ("-p", parent) if parent else ()
    stdin = message.encode("utf-8", "surrogateescape")
    return (await git(path, *QUIET, "commit-tree", tree, *above, env=IDENTITY, stdin=stdin)).strip()


async def _keep(repo: str, ref: str, sha: str) -> None:
    """Points a ref to a commit and keeps the previous value in its reflog."""
    await git(repo, *QUIET, "update-ref", "--create-reflog", "-m", "bough", ref, sha, env=_WHO)


async def _repositories(path: str) -> list[str]:
    """Returns the nested repositories of a working copy: checked-out submodules, untracked ones, also without commits,
    and those inside them."""
    nested: list[str] = []
    # Git lists every untracked file, but of a nested repository only its folder.
    others = [os.path.join(path, name[:-1]) for name in (await files(path)).untracked if name.endswith("/")]
    for inner in [*await own_submodules(path), *others]:
        if not is_there(inner, ".git"):
            raise GitFailed("git_failed", f"The contents of {inner} cannot be kept: git does not list it.")
        nested += [inner, *await _repositories(inner)]
    return nested
