"""Remembers the last merge of each worktree, so that it can be undone. The database decides what an undo does. Refs
only keep the commits: agents may be able to write them."""

from __future__ import annotations

import msgspec

from bough.core.finish.folder import WorktreeFolder
from bough.core.store.sql import MERGES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.git.decode import lines
from bough.git.run import git
from bough.git.worktrees import resolve

PREFIX = "refs/bough/merges"
_PARTS = ("before", "after", "tip")


class LastMerge(msgspec.Struct, rename="camel", frozen=True):
    """The last merge of a worktree: the base branch, its commits before and after, and the commit that was merged."""

    branch: str
    before: str
    after: str
    tip: str


class Merges:
    """Reads and notes the last merges of worktrees."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def last(self, folder: WorktreeFolder) -> LastMerge | None:
        """Returns the last merge of a worktree that its base still contains. If Bough was killed before it moved the
        base, or somebody moved the base back, there is none."""
        merge = await self.noted(folder)
        return merge if merge is not None and await is_in_base(folder, merge) else None

    async def noted(self, folder: WorktreeFolder) -> LastMerge | None:
        """Returns the last merge that was noted, whether it took place or not."""
        worktree_id = folder.row.id
        return await self._store.read(lambda tx: tx.one(MERGES.find, LastMerge, worktree_id=worktree_id))

    async def note(self, folder: WorktreeFolder, merge: LastMerge) -> None:
        """Notes a merge that is about to take place, in place of an earlier one."""
        fields = msgspec.structs.asdict(merge)

        async def work(change: Change) -> None:
            await change.tx.run(MERGES.note, worktree_id=folder.row.id, now=change.now, **fields)

        await self._store.write(work)
        await _keep(folder, {kept_ref(folder, part): getattr(merge, part) for part in _PARTS})

    async def forget(self, folder: WorktreeFolder) -> None:
        """Forgets a merge that was undone or did not take place."""
        worktree_id = folder.row.id
        await until_available(
            lambda: self._store.write(lambda change: change.tx.run(MERGES.forget, worktree_id=worktree_id)),
            "a merge that was undone",
            worktree=worktree_id,
        )
        await _keep(folder, {})


def kept_ref(folder: WorktreeFolder, part: str) -> str:
    """Returns the ref that keeps a commit of the last merge."""
    return f"{PREFIX}/{folder.row.id}/{part}"


async def is_in_base(folder: WorktreeFolder, merge: LastMerge) -> bool:
    """Returns whether the base branch contains a merge."""
    tip = await resolve(folder.repo.path, f"refs/heads/{merge.branch}")
    if tip is None or await resolve(folder.repo.path, merge.after) is None:
        return False
    # The merge itself if the base contains it, else something older.
    common = await git(folder.repo.path, "merge-base", merge.after, tip, fine=(0, 1))
    return common.strip() == merge.after


async def _keep(folder: WorktreeFolder, targets: dict[str, str]) -> None:
    """Points refs of a worktree to commits, after deleting its others."""
    words = ("for-each-ref", "--format=%(refname)", f"{PREFIX}/{folder.row.id}/")
    known = lines(await git(folder.repo.path, *words))
    # In two steps: the name of one that goes may be in the way of a new one.
    for text in (
        "".join(f"delete {ref}\0\0" for ref in known if ref not in targets),
        "".join(f"update {ref}\0{sha}\0\0" for ref, sha in targets.items()),
    ):
        if text:
            stdin = text.encode("utf-8", "surrogateescape")
            await git(folder.repo.path, "update-ref", "--no-deref", "-z", "--stdin", stdin=stdin)
