"""What a worktree held, kept on refs that outlive it, and brought back. Taking a snapshot is `snapshot`'s part; which
worktrees go, and when, is `bough.core`'s."""

from __future__ import annotations

import os

from bough.git.places import relative
from bough.git.run import git
from bough.git.snapshot import IDENTITY, QUIET, place, scratch_index, take
from bough.git.status import files, submodules
from bough.git.worktrees import resolve

# Reading or writing every file of a large working copy.
WITHIN = 600.0
PREFIX = "refs/bough/recovery"
# Beside it: what lay in repositories inside of the worktree, whose own data goes with it.
INNER = "refs/bough/recovery-inner"
# With the time of now: git reads no note about a ref from the year 1970.
_WHO = {name: value for name, value in IDENTITY.items() if not name.endswith("DATE")}


async def keep_all(path: str, worktree_id: str, message: str) -> tuple[str, list[str]]:
    """Keeps the files of a worktree, and those of every repository inside of it; gives the first ref and the others."""
    ref = f"{PREFIX}/{worktree_id}"
    await _keep(path, ref, await _snapshot(path, message))
    inner: list[str] = []
    for number, one in enumerate(await _repositories(path), 1):
        own = f"{INNER}/{worktree_id}/{number}"
        await _keep(one, own, await _snapshot(one, f"{message}, in {relative(one, path)}"))
        fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force")
        await git(path, "-c", "protocol.file.allow=always", *fetch, one, f"{own}:{own}", timeout=WITHIN)
        inner.append(own)
    return ref, inner


async def keep_commit(repo: str, worktree_id: str, sha: str, message: str) -> str:
    """The same for a worktree whose files are gone: the commit that it stood on."""
    tree = (await git(repo, "rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}")).strip()
    ref = f"{PREFIX}/{worktree_id}"
    await _keep(repo, ref, await _commit(repo, tree, sha, message))
    return ref


async def restore(path: str, sha: str) -> None:
    """Gives a fresh working copy the files of a snapshot, as uncommitted changes; HEAD and index stay."""
    with scratch_index(await place(path), seeded=True) as env:
        # From one tree to the other: what the first has and the second has not is deleted.
        await git(path, *QUIET, "read-tree", "-m", "-u", "HEAD", sha, env=env, timeout=WITHIN)


async def _snapshot(path: str, message: str) -> str:
    """The files as a commit on top of HEAD, also if nothing is uncommitted: so its parent is always HEAD."""
    shot = await take(path)
    return await _commit(path, shot.tree, shot.head, message)


async def _commit(path: str, tree: str, parent: str | None, message: str) -> str:
    above = ("-p", parent) if parent else ()
    stdin = message.encode("utf-8", "surrogateescape")
    return (await git(path, *QUIET, "commit-tree", tree, *above, env=IDENTITY, stdin=stdin)).strip()


async def _keep(repo: str, ref: str, sha: str) -> None:
    """Points a ref to a commit, and remembers what it pointed to before."""
    await git(repo, *QUIET, "update-ref", "--create-reflog", "-m", "bough", ref, sha, env=_WHO)


async def _repositories(path: str) -> list[str]:
    """Repositories inside of a working copy: submodules that are checked out, and others that it does not track."""
    found = await submodules(path)
    for name in (await files(path)).untracked:
        inner = os.path.join(path, name)
        if name.endswith("/") and await resolve(inner, "HEAD") is not None:
            found += [inner.rstrip("/"), *await submodules(inner)]
    return found
