"""Removing worktrees (W2): refused while something would be lost, by force only after all of it is kept; and getting it
back. Making them is `worktree_making`."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Literal

import msgspec
import structlog

from bough.core.store.short_ids import whole_id
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import records as rows
from bough.core.worktrees import setup
from bough.core.worktrees.create import Making, add_keeping_hooks
from bough.core.worktrees.losses import lost
from bough.core.worktrees.paths import free_inside
from bough.core.worktrees.records import Use
from bough.errors import BoughError, Conflict
from bough.git import worktree_recovery
from bough.git import worktrees as git
from bough.git.decode import shown
from bough.git.paths import below, is_folder, is_there
from bough.git.repo_lock import alone
from bough.git.run import GitFailed
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

BranchFate = Literal["keep", "delete"]


class Removed(msgspec.Struct):
    """What became of a worktree: removed with its folder or only forgotten, and how to get it back."""

    worktree: Worktree
    forgotten: bool
    branch_deleted: bool
    inner_refs: list[str]


class Removal:
    """Takes worktrees away, and brings them back."""

    def __init__(self, store: Store, settings: Settings, making: Making) -> None:
        self._store = store
        self._settings = settings
        self._making = making

    async def check(self, worktree_id: str, *, force: bool, besides: str | None = None) -> None:
        """Refuses what `remove` would refuse; the session `besides` is about to end."""
        row, repo = await self._store.read(lambda tx: _found(tx, worktree_id))
        await self._store.read(lambda tx: _unused(tx, row, besides))
        if row.made_by_bough and not force and is_folder(row.path):
            entry = await git.entry(repo.path, row.path)
            if entry is not None:
                (await lost(row, entry)).refuse(row)

    async def remove(self, worktree_id: str, *, force: bool = False, branch: BranchFate = "keep") -> Removed:
        """Removes a worktree; one that Bough did not make is only forgotten unless forced."""
        row, repo = await self._store.read(lambda tx: _found(tx, worktree_id))
        if branch == "delete" and not row.branch_made:
            raise Conflict(
                "branch_not_ours", f"Branch {row.branch} was not made by Bough. Delete it with git yourself."
            )
        if row.status == "setting_up" and force:
            await self._making.stop(row.id)
        return await asyncio.shield(asyncio.create_task(self._remove(row, repo, force, branch)))

    async def _remove(self, row: Worktree, repo: Repo, force: bool, branch: BranchFate) -> Removed:
        try:
            common = await git.common_folder(repo.path)
        except BoughError:
            if is_folder(repo.path):
                raise
            # Nothing is left to ask git about.
            return Removed(await self._gone(row, row.recovery_ref, row.branch), True, False, [])
        async with alone(common):
            await self._store.write(lambda change: _claim(change, row.id, force))
            try:
                return await self._take_away(row, repo, force, branch)
            except BaseException:
                await asyncio.shield(self._store.write(lambda change: rows.update(change, row.id, status="ready")))
                raise

    async def _take_away(self, row: Worktree, repo: Repo, force: bool, branch: BranchFate) -> Removed:
        entry = await git.entry(repo.path, row.path)
        # A server that ended before it could say so may have taken it away, and kept all of it.
        ref = await worktree_recovery.kept(repo.path, row.id) if entry is None else None
        if not row.made_by_bough and not force:
            return Removed(await self._gone(row, ref, entry.branch if entry else row.branch), True, False, [])
        if entry is None and is_there(row.path):
            raise Conflict(
                "not_a_worktree",
                f"Git does not know {row.path} as a worktree of {repo.name} any more, so it is left alone. Repair it "
                "with `git worktree repair`, or remove the folder yourself.",
            )
        if entry is not None and entry.locked is not None:
            why = f" ({shown(entry.locked)})" if entry.locked else ""
            raise Conflict(
                "worktree_locked",
                f"Worktree {row.name} is locked{why}. Unlock it first: git worktree unlock {shlex.quote(row.path)}",
                reason=shown(entry.locked),
            )
        inner = list[str]()
        if entry is not None:
            ref, inner = await self._clear(row, repo, entry, force)
        await asyncio.to_thread(git.tidy, row.path, repo.path)
        deleted = branch == "delete" and await _deleted(row, repo, ref)
        head = entry.branch if entry is not None else row.branch
        return Removed(await self._gone(row, ref, head), False, deleted, inner)

    async def _clear(self, row: Worktree, repo: Repo, entry: git.Entry, force: bool) -> tuple[str | None, list[str]]:
        """Takes the folder away, after all that it holds is kept if that is forced."""
        note = f"Bough: the files of worktree {row.name} ({row.id}), removed from {row.path}"
        if not is_folder(row.path):
            known = await git.resolve(repo.path, entry.sha) if entry.sha is not None else None
            ref = await worktree_recovery.keep_commit(repo.path, row.id, known, note) if known is not None else None
            await self._keeping(row, ref)
            await git.remove(repo.path, row.path, force=True)
            return ref, []
        await _not_nested(repo.path, row)
        found = await lost(row, entry)
        if not force:
            found.refuse(row)
            # Without force git looks once more, except that it never removes submodules without.
            await git.remove(repo.path, row.path, force=found.submodules)
            return None, []
        ref, inner = await worktree_recovery.keep_all(row.path, row.id, note)
        await self._keeping(row, ref)
        await git.remove(repo.path, row.path, force=True)
        return ref, inner

    async def _keeping(self, row: Worktree, ref: str | None) -> None:
        """Writes down what it is kept on before it goes: from then on a crash loses nothing."""
        if ref is not None:
            await self._store.write(lambda change: rows.quietly(change, row.id, recovery_ref=ref))

    async def _gone(self, row: Worktree, ref: str | None, branch: str | None) -> Worktree:
        """Marks it removed."""

        async def work(change: Change) -> Worktree:
            fresh = await rows.quietly(
                change,
                row.id,
                status="ready",
                removed_at=change.now,
                recovery_ref=ref,
                board_id=None,
                branch=branch,
                branch_made=row.branch_made and branch == row.branch,
            )
            change.emit("worktree.removed", fresh)
            return fresh

        log.info("worktree_removed", worktree=row.id, path=row.path, recovery_ref=ref)
        return await self._store.write(work)

    async def recover(self, caller: Caller, worktree_id: str) -> Worktree:
        """Brings a removed worktree back to its old path: branch, commits and uncommitted files; then sets it up."""
        whole = await self._store.read(lambda tx: whole_id(tx, "worktrees", worktree_id))
        scope = f"worktrees.recover:{whole}"
        known = await self._store.kept(caller, scope, None, Worktree)
        if known is not None:
            return known
        return await asyncio.shield(asyncio.create_task(self._recover(caller, scope, whole)))

    async def _recover(self, caller: Caller, scope: str, worktree_id: str) -> Worktree:
        row, repo = await self._store.read(lambda tx: _removed(tx, worktree_id))
        settings = self._settings
        common = await git.common_folder(repo.path)
        async with alone(common) as lock:
            path = free_inside(settings.root_path, Path(repo.path), row.path, data=settings.data_path)
            branch, head, files_sha = await _found_again(row, repo)
            await self._store.write(lambda change: _reserve(change, row.id, str(path)))
            try:
                told = await add_keeping_hooks(repo.path, str(path), branch, head, lock)
                await git.exclude(common, repo.path, str(path))
                if files_sha is not None:
                    await worktree_recovery.restore(str(path), files_sha)
                busy = setup.wanted(repo, str(path))

                async def work(change: Change) -> Worktree:
                    fresh = await rows.quietly(
                        change,
                        row.id,
                        status="setting_up" if busy else "ready",
                        removed_at=None,
                        branch=branch.name if branch else None,
                        branch_made=row.branch_made or (branch is not None and branch.kind == "new"),
                        setup_error=told,
                        setup_output=None,
                    )
                    change.emit("worktree.created", fresh)
                    return fresh

                back = await self._store.write_once(caller, scope, None, Worktree, work)
            except BaseException:
                await asyncio.shield(self.undo_recovery(repo, row))
                raise
            if busy:
                self._making.start(repo, back)
        log.info("worktree_recovered", worktree=row.id, path=row.path)
        return await self._making.settled(caller, scope, back, wait=True)

    async def undo_recovery(self, repo: Repo, row: Worktree) -> None:
        """Takes away what there is of a worktree that was to come back; it stays removed, and kept."""
        if (await self._store.read(lambda tx: rows.worktree(tx, row.id))).removed_at is None:
            # It is back, whatever went wrong after that was written.
            return
        try:
            await git.clear(repo.path, row.path)
        except (BoughError, OSError) as error:
            log.warning("worktree_not_undone", path=row.path, error=str(error))
        await self._store.write(lambda change: rows.quietly(change, row.id, status="ready"))


async def _found(tx: Tx, worktree_id: str) -> tuple[Worktree, Repo]:
    row = await rows.worktree(tx, worktree_id)
    if row.removed_at is not None or row.status == "making":
        raise Conflict("worktree_removed", f"Worktree {row.name} was removed already.")
    return row, await rows.repo_of(tx, row)


async def _removed(tx: Tx, worktree_id: str) -> tuple[Worktree, Repo]:
    row = await rows.worktree(tx, worktree_id)
    if row.removed_at is None:
        raise Conflict("worktree_not_removed", f"Worktree {row.name} is there, at {row.path}.")
    return row, await rows.repo_of(tx, row)


async def _unused(tx: Tx, row: Worktree, besides: str | None = None) -> None:
    """Refuses while active sessions work there."""
    using = [one for one in await tx.all(WORKTREES.active_sessions, Use, id=row.id, path=row.path) if one.id != besides]
    if using:
        names = ", ".join(one.id for one in using)
        raise Conflict(
            "worktree_in_use",
            f"Active sessions work in worktree {row.name}: {names}. Complete or cancel them first.",
            sessions=[msgspec.to_builtins(one) for one in using],
        )


async def _claim(change: Change, worktree_id: str, force: bool) -> None:
    """From here on no session begins there."""
    row, _ = await _found(change.tx, worktree_id)
    if row.status == "removing" or (row.status == "setting_up" and not force):
        raise Conflict("worktree_busy", f"Worktree {row.name} is busy ({row.status}). Wait, or force it.")
    await _unused(change.tx, row)
    await rows.update(change, row.id, status="removing")


async def _reserve(change: Change, worktree_id: str, path: str) -> None:
    if await change.tx.one(WORKTREES.by_path, Worktree, path=path) is not None:
        raise Conflict("path_exists", f"Another worktree is registered at {path}.", path=path)
    await _removed(change.tx, worktree_id)
    await rows.quietly(change, worktree_id, status="recovering")


async def _not_nested(repo: str, row: Worktree) -> None:
    """Other worktrees inside of this one would go with it."""
    inside = [one.path for one in await git.entries(repo) if below(one.path, row.path)]
    if inside:
        raise Conflict(
            "worktree_holds_others",
            f"Other worktrees lie inside of {row.path}: {', '.join(inside)}. Remove those first.",
            paths=inside,
        )


async def _deleted(row: Worktree, repo: Repo, ref: str | None) -> bool:
    """Deletes the branch, if nothing of it is lost; the worktree is gone whatever becomes of it."""
    try:
        return row.branch is not None and await git.delete_branch(repo.path, row.branch, *([ref] if ref else []))
    except GitFailed as error:
        log.warning("branch_not_deleted", branch=row.branch, error=error.message)
        return False


async def _found_again(row: Worktree, repo: Repo) -> tuple[git.Branch | None, str | None, str | None]:
    """The branch to check out, else the commit, and the snapshot with the files."""
    kept = await git.resolve(repo.path, row.recovery_ref) if row.recovery_ref else None
    head = await git.resolve(repo.path, f"{kept}^1") if kept else None
    tip = await git.resolve(repo.path, f"refs/heads/{row.branch}") if row.branch else None
    head = head or (kept if kept else tip)
    if head is None:
        raise Conflict("nothing_to_recover", f"Nothing of worktree {row.name} was kept, and its branch is gone.")
    # Git checks out no branch of such a name, although one can be there.
    if row.branch is None or row.branch.startswith("-"):
        return None, head, kept
    if tip is None:
        return _branch(row.branch, "new", head, row), None, kept
    if tip == head and await git.checked_out_at(repo.path, row.branch) is None:
        return _branch(row.branch, "local", head, row), None, kept
    name, number = f"{row.branch}-recovered", 1
    while await git.resolve(repo.path, f"refs/heads/{name}") is not None:
        number += 1
        name = f"{row.branch}-recovered-{number}"
    return _branch(name, "new", head, row), None, kept


def _branch(name: str, kind: Literal["new", "local"], head: str, row: Worktree) -> git.Branch:
    return git.Branch(name, kind, head, head, row.base_ref, row.base_sha)


def how_to_recover(row: Worktree) -> str | None:
    """What gets a removed worktree back, for people."""
    if row.recovery_ref is None:
        return None
    by_hand = shlex.join(["git", "worktree", "add", row.path, row.recovery_ref])
    return f"bough worktree recover {row.id}, or: {by_hand}"
