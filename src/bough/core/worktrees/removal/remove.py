"""Removes worktrees (W2): refuses while something would be lost. With force, first keeps it all on a recovery ref."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
import structlog

from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees import records
from bough.core.worktrees.creation.create import WorktreeCreation, run_shielded
from bough.core.worktrees.records import SessionUse
from bough.core.worktrees.removal import refusals
from bough.core.worktrees.removal.losses import find_lost
from bough.core.worktrees.removal.recover import WorktreeRecovery
from bough.errors import BoughError, Conflict
from bough.git import worktree_recovery
from bough.git import worktrees as git
from bough.git.paths import below, is_folder, is_there
from bough.git.repo_lock import alone
from bough.git.run import GitFailed
from bough.git.workspace import check_workspace
from bough.git.worktree_recovery import Kept
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

BranchFate = Literal["keep", "delete"]
# Looks again, with the repository's lock, when no session can start in the worktree. Raises the reason why it
# must stay, or returns the commit at which its branch may be deleted, if any.
LastLook = Callable[[], Awaitable[str | None]]
# Ends the terminals and runs in a worktree, by its id.
EndPrograms = Callable[[str], Awaitable[None]]
# A removal under way is finished while the server stops: storing the files of a large worktree takes a few seconds.
FINISH_WITHIN = 10.0


class Removed(msgspec.Struct):
    """The removed worktree: whether it was only forgotten, whether its branch was deleted, and the refs that hold its
    contents."""

    worktree: Worktree
    forgotten: bool
    branch_deleted: bool
    inner_refs: list[str]


class Removal:
    """Removes worktrees."""

    def __init__(self, store: Store, settings: Settings, creation: WorktreeCreation, end_programs: EndPrograms) -> None:
        self._store = store
        self._settings = settings
        self._creation = creation
        self._end_programs = end_programs
        self.recovery = WorktreeRecovery(store, settings, creation)
        self._removals: set[asyncio.Task[Removed]] = set()

    async def check(self, worktree_id: str, *, force: bool, besides: str | None = None) -> None:
        """Raises what `remove` would raise. The session `besides` is about to end and does not count."""
        row, repo = await self._store.read(lambda tx: _existing(tx, worktree_id))
        await self._check_folders(row, repo)
        await self._store.read(lambda tx: _check_unused(tx, row, besides))
        if row.made_by_bough and not force and is_folder(row.path):
            listed = await git.find_worktree(repo.path, row.path)
            if listed is not None and (error := refusals.dirty(row, await find_lost(row, listed))):
                raise error

    async def remove(
        self,
        caller: Caller,
        worktree_id: str,
        *,
        force: bool = False,
        branch: BranchFate = "keep",
        last_look: LastLook | None = None,
    ) -> Removed:
        """Removes a worktree, even if the caller stops waiting. One that Bough did not create is only forgotten, unless
        forced. `last_look` decides about the branch in place of `branch`."""
        row, repo = await self._store.read(lambda tx: _existing(tx, worktree_id))
        if branch == "delete" and not row.branch_made:
            raise Conflict(
                "branch_not_ours", f"Branch {row.branch} was not created by Bough. Delete it with git yourself."
            )
        if row.status == "setting_up" and force:
            await self._creation.setups.stop(row.id)
        await self._check_folders(row, repo)
        return await run_shielded(self._remove(caller, row, repo, force, branch, last_look), self._removals)

    async def _check_folders(self, row: Worktree, repo: Repo) -> None:
        """Raises `Denied` if the worktree or its repository leads outside the workspace by now (W3)."""
        for path in (row.path, repo.path):
            await asyncio.to_thread(check_workspace, self._settings.root_path, self._settings.data_path, path)

    async def _remove(
        self,
        caller: Caller,
        row: Worktree,
        repo: Repo,
        force: bool,
        branch: BranchFate,
        last_look: LastLook | None,
    ) -> Removed:
        try:
            common = await git.common_folder(repo.path)
        except BoughError:
            if is_folder(repo.path):
                raise
            # Nothing is left to ask git about.
            return Removed(await self._mark_removed(caller, row, _stored(row), row.branch), True, False, [])
        async with alone(common):
            try:
                row = await self._store.write(lambda change: _claim(change, row.id, force))
                tip = None
                if last_look is not None:
                    tip = await last_look()
                    branch = "keep" if tip is None else "delete"
                return await self._take_away(caller, row, repo, force, branch, tip)
            except BaseException:
                # Also if the claim failed: it may have been stored although its reply was lost.
                await asyncio.shield(self.undo_removal(caller, repo, row))
                raise

    async def undo_removal(self, caller: Caller, repo: Repo, row: Worktree) -> None:
        """Makes a worktree usable again whose removal failed, or marks it removed if its folder is gone. Call it only
        with the lock of the repository."""
        about, read = "a removal that failed", self._store.read
        known = await until_available(lambda: read(lambda tx: records.worktree(tx, row.id)), about, within=UNDO_WITHIN)
        if known.removed_at is not None or not (
            known.status == "removing" or self._creation.setups.is_abandoned(known)
        ):
            return
        if known.status == "removing" and await _is_gone(repo, known):
            await self._mark_removed(caller, known, _stored(known), known.branch)
            return
        await until_available(
            lambda: self._store.write(lambda change: records.update(change, row.id, status="ready")),
            about,
            within=UNDO_WITHIN,
            worktree=row.id,
        )

    async def _take_away(
        self, caller: Caller, row: Worktree, repo: Repo, force: bool, branch: BranchFate, tip: str | None
    ) -> Removed:
        entry = await git.find_worktree(repo.path, row.path)
        # A server that ended before it could say so may have taken it away, and kept all of it.
        contents = _stored(row) if entry is None else None
        if not row.made_by_bough and not force:
            head = entry.branch if entry else row.branch
            return Removed(await self._mark_removed(caller, row, contents, head, force=False), True, False, [])
        if entry is None and is_there(row.path):
            raise refusals.unknown_to_git(row, repo)
        if entry is not None and (error := refusals.locked(row, entry)):
            raise error
        if entry is not None:
            contents = await self._clear(row, repo, entry, force)
        await asyncio.to_thread(git.tidy, row.path, repo.path)
        deleted = branch == "delete" and await _deleted(row, repo, contents, tip)
        head = entry.branch if entry is not None else row.branch
        return Removed(
            await self._mark_removed(caller, row, contents, head, force=force),
            False,
            deleted,
            contents.inner if contents else [],
        )

    async def _clear(self, row: Worktree, repo: Repo, entry: git.ListedWorktree, force: bool) -> Kept | None:
        """Removes the folder; with force, after storing everything it holds."""
        note = f"Bough: the files of worktree {row.name} ({row.id}), removed from {row.path}"
        if not is_folder(row.path):
            known = await git.resolve(repo.path, entry.sha) if entry.sha is not None else None
            contents = None
            if known is not None:
                contents = await worktree_recovery.keep_commit(repo.path, row.id, known, note, row.recovery_sha)
                await self._store_kept(row, contents)
            await git.remove(repo.path, row.path, force=True)
            return contents
        if not is_there(row.path, ".git"):
            # A removal was cut off; without the file, git would look at a repository around the folder.
            await git.reconnect(repo.path, row.path)
        inside = [other.path for other in await git.list_worktrees(repo.path) if below(other.path, row.path)]
        if error := refusals.holds_others(row, inside):
            raise error
        lost = await find_lost(row, entry)
        if not force:
            if error := refusals.dirty(row, lost):
                raise error
            await self._end_programs(row.id)
            # Without force git checks again; but it never removes submodules without force.
            await git.remove(repo.path, row.path, force=lost.submodules)
            return None
        await self._end_programs(row.id)
        contents = await worktree_recovery.keep_all(row.path, row.id, note, row.recovery_sha)
        await self._store_kept(row, contents)
        await git.remove(repo.path, row.path, force=True)
        return contents

    async def _store_kept(self, row: Worktree, contents: Kept) -> None:
        """Stores where the contents are before the folder goes, so that a crash loses nothing."""
        columns = {"recovery_ref": contents.ref, "recovery_sha": contents.sha}
        await self._store.write(lambda change: records.quietly(change, row.id, **columns))

    async def _mark_removed(
        self, caller: Caller, row: Worktree, contents: Kept | None, branch: str | None, *, force: bool = False
    ) -> Worktree:
        """Marks the worktree removed."""

        async def work(change: Change) -> Worktree:
            before = await records.worktree(change.tx, row.id)
            fresh = await records.quietly(
                change,
                row.id,
                status="ready",
                removed_at=change.now,
                recovery_ref=contents.ref if contents else None,
                recovery_sha=contents.sha if contents else None,
                board_id=None,
                first_port=None,
                branch=branch,
                branch_made=row.branch_made and branch == row.branch,
            )
            change.emit("worktree.removed", fresh)
            if before.removed_at is None:
                # Not if it was stored before, though the reply was lost.
                change.audit(caller, "worktree.removed", subject_id=row.id, path=row.path, branch=branch, force=force)
            return fresh

        await self._end_programs(row.id)
        log.info("worktree_removed", worktree=row.id, path=row.path, recovery_ref=contents and contents.ref)
        # The folder is gone, so that there is no way back.
        return await until_available(lambda: self._store.write(work), "a removal", within=UNDO_WITHIN, worktree=row.id)

    async def close(self) -> None:
        """Undoes recoveries and creations under way, stops setups, and lets removals finish for a while. A removal that
        is cut off can be repeated."""
        self.recovery.cancel_all()
        if self._removals:
            _, late = await asyncio.wait(self._removals, timeout=FINISH_WITHIN)
            for removal in late:
                removal.cancel()
        if self._removals:
            await asyncio.wait(self._removals)
        await self.recovery.all_ended()
        await self._creation.close()


async def _existing(tx: Tx, worktree_id: str) -> tuple[Worktree, Repo]:
    row = await records.worktree(tx, worktree_id)
    if error := refusals.removed(row):
        raise error
    return row, await records.repo_of(tx, row)


async def _check_unused(tx: Tx, row: Worktree, besides: str | None = None) -> None:
    """Refuses while active sessions other than `besides` work there."""
    uses = await tx.all(WORKTREES.active_sessions, SessionUse, id=row.id, path=row.path)
    if error := refusals.in_use(row, [use for use in uses if use.id != besides]):
        raise error


def _stored(row: Worktree) -> Kept | None:
    """Returns where a removal that was cut off keeps the contents, as it stored it: agents can write refs."""
    if row.recovery_ref is None or row.recovery_sha is None:
        return None
    return Kept(row.recovery_ref, row.recovery_sha)


async def _claim(change: Change, worktree_id: str, force: bool) -> Worktree:
    """Marks the worktree as being removed, so that no session starts there. The repository's lock guarantees that one
    in status `removing` was left by a removal that failed."""
    row, _ = await _existing(change.tx, worktree_id)
    if row.status != "removing" and (error := refusals.busy(row, force=force)):
        raise error
    await _check_unused(change.tx, row)
    return await records.update(change, row.id, status="removing")


async def _is_gone(repo: Repo, row: Worktree) -> bool:
    """Tells whether neither the folder nor git has the worktree anymore."""
    try:
        return not is_there(row.path) and await git.find_worktree(repo.path, row.path) is None
    except BoughError:
        return False


async def _deleted(row: Worktree, repo: Repo, contents: Kept | None, tip: str | None) -> bool:
    """Deletes the branch if no commit is lost. The worktree is gone either way."""
    if row.branch is None:
        return False
    try:
        return await git.delete_branch(repo.path, row.branch, *([contents.sha] if contents else []), expected=tip)
    except GitFailed as error:
        log.warning("branch_not_deleted", branch=row.branch, error=error.message)
        return False
