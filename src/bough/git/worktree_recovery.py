"""What a worktree held, kept on refs that outlive it, and brought back. Taking a snapshot is `snapshot`'s part; which
worktrees go, and when, is `bough.core`'s."""

from __future__ import annotations

import os

from bough.git.paths import is_there, relative
from bough.git.run import GitFailed, git
from bough.git.snapshot import IDENTITY, QUIET, place, scratch_index, take
from bough.git.status import files, own_submodules
from bough.git.worktrees import resolve

# Reading or writing every file of a large working copy.
WITHIN = 600.0
PREFIX = "refs/bough/recovery"
# Beside it: what lay in repositories inside of the worktree, whose own data goes with it. Each has a number, and below
# that its `files`, `heads`, `tags` and `stash`.
INNER = "refs/bough/recovery-inner"
# What a snapshot says of files that it could not read.
LEFT_OUT = "are left out"
# With the time of now: git reads no note about a ref from the year 1970.
_WHO = {name: value for name, value in IDENTITY.items() if not name.endswith("DATE")}


async def keep_all(path: str, worktree_id: str, message: str) -> tuple[str, list[str]]:
    """Keeps the files of a worktree, and every repository inside of it with its branches, tags and stash; gives the
    first ref, and those of the others that hold more than that. What cannot be kept is an error."""
    ref = f"{PREFIX}/{worktree_id}"
    await _keep(path, ref, await _snapshot(path, message))
    inner: list[str] = []
    # What an earlier removal has kept stays.
    kept = (await git(path, "for-each-ref", "--format=%(refname)", f"{INNER}/{worktree_id}")).split()
    first = 1 + max((int(one.split("/")[4]) for one in kept), default=0)
    for number, one in enumerate(await _repositories(path), first):
        own = f"{INNER}/{worktree_id}/{number}"
        inner += await _keep_inner(path, one, own, f"{message}, in {relative(one, path)}")
    return ref, inner


async def _keep_inner(path: str, one: str, own: str, message: str) -> list[str]:
    """Copies a repository inside of a worktree to refs below `own`."""
    await _keep(one, f"{own}/files", await _snapshot(one, message))
    refspecs = [f"{own}/*:{own}/*"]
    where = ("--path-format=absolute", "--git-dir", "--git-common-dir")
    git_dir, common = (await git(one, "rev-parse", *where)).rstrip("\n").split("\n")
    # The worktree of a repository elsewhere has nothing else that would go.
    if git_dir == common:
        stashed = (
            await git(one, "log", "--walk-reflogs", "--format=%H", "--ignore-missing", "refs/stash", "--")
        ).split()
        for number, sha in enumerate(stashed):
            await _keep(one, f"{own}/stash/{number}", sha)
        refspecs += [f"refs/heads/*:{own}/heads/*", f"refs/tags/*:{own}/tags/*"]
    fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force")
    await git(path, *QUIET, "-c", "protocol.file.allow=always", *fetch, one, *refspecs, timeout=WITHIN)
    named = ("for-each-ref", "--format=%(refname)", f"--no-merged={own}/files", f"{own}/heads", f"{own}/stash")
    return [f"{own}/files", *(await git(path, *named)).split()]


async def kept(repo: str, worktree_id: str) -> str | None:
    """The ref of a worktree that was kept."""
    ref = f"{PREFIX}/{worktree_id}"
    return ref if await resolve(repo, ref) is not None else None


async def drop(repo: str, worktree_id: str) -> None:
    """Forgets all that was kept of a worktree."""
    named = ("for-each-ref", "--format=%(refname)", f"{PREFIX}/{worktree_id}", f"{INNER}/{worktree_id}")
    stdin = "".join(f"delete {one}\n" for one in (await git(repo, *named)).splitlines())
    if stdin:
        await git(repo, *QUIET, "update-ref", "--no-deref", "--stdin", stdin=stdin.encode())


async def keep_commit(repo: str, worktree_id: str, sha: str, message: str) -> str:
    """The same for a worktree whose files are gone: the commit that it stood on."""
    ref = f"{PREFIX}/{worktree_id}"
    if await resolve(repo, f"{ref}^1") == sha:
        # A removal that was cut off has kept the files on top of it.
        return ref
    tree = (await git(repo, "rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}")).strip()
    await _keep(repo, ref, await _commit(repo, tree, sha, message))
    return ref


async def restore(path: str, sha: str) -> None:
    """Gives a fresh working copy the files of a snapshot, as uncommitted changes; HEAD and index stay."""
    async with scratch_index(await place(path), seeded=True) as env:
        # From one tree to the other: what the first has and the second has not is deleted.
        await git(path, *QUIET, "read-tree", "-m", "-u", "HEAD", sha, env=env, timeout=WITHIN)


async def _snapshot(path: str, message: str) -> str:
    """The files as a commit on top of HEAD, also if nothing is uncommitted: so its parent is always HEAD."""
    shot = await take(path)
    if shot.note is not None and LEFT_OUT in shot.note:
        raise GitFailed("git_failed", f"Not everything in {path} can be kept. {shot.note}")
    return await _commit(path, shot.tree, shot.head, message)


async def _commit(path: str, tree: str, parent: str | None, message: str) -> str:
    above = ("-p", parent) if parent else ()
    stdin = message.encode("utf-8", "surrogateescape")
    return (await git(path, *QUIET, "commit-tree", tree, *above, env=IDENTITY, stdin=stdin)).strip()


async def _keep(repo: str, ref: str, sha: str) -> None:
    """Points a ref to a commit, and remembers what it pointed to before."""
    await git(repo, *QUIET, "update-ref", "--create-reflog", "-m", "bough", ref, sha, env=_WHO)


async def _repositories(path: str) -> list[str]:
    """Repositories inside of a working copy: submodules that are checked out, others that it does not track, also those
    without a commit, and what is inside of them in turn."""
    found: list[str] = []
    # Git names every file that is not tracked, and of a repository only its folder.
    others = [os.path.join(path, name[:-1]) for name in (await files(path)).untracked if name.endswith("/")]
    for inner in [*await own_submodules(path), *others]:
        if not is_there(inner, ".git"):
            raise GitFailed("git_failed", f"What is in {inner} cannot be kept: git does not list it.")
        found += [inner, *await _repositories(inner)]
    return found
