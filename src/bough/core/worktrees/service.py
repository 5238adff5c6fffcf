"""Offers every operation on worktrees: create, adopt, list, inspect, change, compare, remove and recover (R1,
W1–W3)."""

from __future__ import annotations

import os
from typing import Any, Literal

import msgspec
import structlog

from bough.core.store.idempotency import KeyScope
from bough.core.store.paging import Page, read_page
from bough.core.store.short_ids import find, find_id
from bough.core.store.sql import BOARDS, REPOS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees import records
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.core.worktrees.creation.create import SCOPE, WorktreeCreation
from bough.core.worktrees.creation.preview import Preview, preview
from bough.core.worktrees.ports import PortBlocks
from bough.core.worktrees.records import NewWorktree, SessionUse, StartFiles, WorktreePatch, checked_notes
from bough.core.worktrees.removal.preview import Losses, losses
from bough.core.worktrees.removal.remove import BranchFate, EndPrograms, LastLook, Removal, Removed
from bough.core.worktrees.repair import WorktreeRepair
from bough.core.worktrees.repos import checked_name
from bough.core.worktrees.state import read_state
from bough.errors import BoughError, Conflict, Invalid, Unavailable
from bough.git import worktree_recovery
from bough.git import worktrees as git
from bough.git.decode import shown
from bough.git.paths import is_folder, real
from bough.git.repo_lock import alone
from bough.git.working_copy.diff import Diff, diff
from bough.git.working_copy.folder_state import top_level
from bough.model.repo import Board, Repo, Worktree, WorktreeState
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

MOST_USES = 100


class GitWorktree(msgspec.Struct, rename="camel"):
    """A worktree that git lists. Without `worktreeId` it can be adopted."""

    path: str
    branch: str | None
    sha: str | None
    locked: bool
    missing: bool
    worktree_id: str | None


class Worktrees:
    """Creates, adopts, lists, changes, compares and removes worktrees."""

    def __init__(self, store: Store, settings: Settings, ports: PortBlocks, end_programs: EndPrograms) -> None:
        self._store = store
        self._settings = settings
        self._creation = WorktreeCreation(store, settings, ports)
        self._removal = Removal(store, settings, self._creation, end_programs)
        self._repair = WorktreeRepair(store, self._creation, self._removal)
        # The marks of worktrees whose sessions are being created.
        self.open_marks: set[str] = set()

    async def create(
        self, caller: Caller, new: NewWorktree, scope: KeyScope = SCOPE, *, by: Caller | None = None
    ) -> Worktree:
        """Creates a worktree of a branch, or adopts the one at `path` if no branch is given. Waits for the setup unless
        told otherwise. `by` is who wants it, if `caller` is only its mark."""
        if new.branch is not None:
            return (await self._creation.create(caller, new, scope, by=by))[0]
        if new.path is None:
            raise Invalid("branch_missing", "Give a branch for a new worktree, or the path of one to adopt.")
        return await self._adopt(caller, new, new.path, scope)

    async def preview(self, new: NewWorktree) -> Preview:
        """Returns what `create` would make, or why it would refuse."""
        return await preview(self._store, self._settings, self._creation, new)

    async def begin(
        self, caller: Caller, new: NewWorktree, scope: KeyScope, start: StartFiles, *, by: Caller
    ) -> tuple[Worktree, bool]:
        """Creates a worktree that starts with the files of `start`, or returns the one this key created. Also returns
        whether it is new."""
        return await self._creation.create(caller, new, scope, start, by=by)

    async def _adopt(self, caller: Caller, new: NewWorktree, path: str, scope: KeyScope) -> Worktree:
        repo = await self._store.read(lambda tx: find(tx, "repos", new.repo_id, REPOS.get, Repo))
        common = await git.common_folder(repo.path)
        wanted_path = path if path.startswith("~") or not path else os.path.join(repo.path, path)
        folder = str(resolve_inside(self._settings.root_path, wanted_path, data=self._settings.data_path))
        listed = await git.find_worktree(repo.path, folder)
        if listed is None:
            raise Conflict(
                "not_a_worktree",
                f"Git lists no worktree of {repo.name} at {folder}. To list them: GET /api/repos/{repo.id}/worktrees",
            )
        title = checked_name(new.name if new.name is not None else listed.branch or os.path.basename(folder))
        checked_notes(new.notes)
        base = await git.find_branch(repo.path, listed.branch, new.base, repo.default_branch) if listed.branch else None

        async def work(change: Change) -> Worktree:
            board = await find(change.tx, "boards", new.board_id, BOARDS.get, Board) if new.board_id else None
            row = await change.tx.one(
                WORKTREES.add,
                Worktree,
                id=new_id(),
                repo_id=repo.id,
                name=title,
                path=folder,
                branch=listed.branch,
                base_ref=base.base_ref if base else None,
                base_sha=base.base_sha if base else listed.sha,
                made_by_bough=False,
                notes=new.notes,
                board_id=board.id if board else None,
                x=new.x,
                y=new.y,
                status="ready",
                branch_made=False,
                now=change.now,
            )
            if row is not None:
                change.emit("worktree.created", row)
                change.audit(caller, "worktree.created", subject_id=row.id, path=row.path, adopted=True)
                return row
            existing = await change.tx.one(WORKTREES.by_path, Worktree, path=folder)
            assert existing is not None
            return existing

        async with alone(common):
            return await self._store.write_once(caller, scope, [new.repo_id, path, new.notes], Worktree, work)

    async def list(self, repo_id: str | None, removed: bool, limit: int, offset: int) -> Page[Worktree]:
        """Lists worktrees, newest first: existing ones or removed ones."""

        async def work(tx: Tx) -> Page[Worktree]:
            where = ["status <> 'making'", f"removed_at IS {'NOT ' if removed else ''}NULL"]
            params: dict[str, Any] = {}
            if repo_id is not None:
                where.append("repo_id = :repo_id")
                params["repo_id"] = await find_id(tx, "repos", repo_id)
            text = " AND ".join(where)
            page, count = WORKTREES.page.with_(where=text), WORKTREES.count.with_(where=text)
            return await read_page(tx, page, count, Worktree, limit, offset, **params)

        return await self._store.read(work)

    async def known_to_git(self, repo_id: str, known: bool | None = None) -> list[GitWorktree]:
        """Lists the worktrees that git has for a repository besides its main working copy; `known` selects those that
        Bough knows or does not know."""

        async def work(tx: Tx) -> tuple[Repo, list[Worktree]]:
            repo = await find(tx, "repos", repo_id, REPOS.get, Repo)
            return repo, await tx.all(WORKTREES.of_repo, Worktree, repo_id=repo.id)

        repo, rows = await self._store.read(work)
        await git.common_folder(repo.path)
        ids = {row.path: row.id for row in rows}
        listed = [
            GitWorktree(
                shown(item.path),
                item.branch,
                item.sha,
                item.locked is not None,
                not is_folder(item.path),
                ids.get(real(item.path)),
            )
            for item in (await git.list_worktrees(repo.path))[1:]
            if real(item.path) != repo.path
        ]
        return [item for item in listed if known is None or known == (item.worktree_id is not None)]

    async def get(self, worktree_id: str) -> Worktree:
        return await self._store.read(lambda tx: records.worktree(tx, worktree_id))

    async def of_folder(self, folder: str, *, inside: bool) -> tuple[Repo | None, Worktree | None]:
        """Returns the repo and worktree that Bough knows for a folder. A folder inside a working copy stands for the
        whole; with `inside`, a plain folder inside a known one stands for that one."""
        root, data = self._settings.root_path, self._settings.data_path
        path = resolve_inside(root, folder, data=data)
        top = await top_level(str(path))
        if top is not None:
            path = resolve_inside(root, top, data=data)
        folders = [path, *path.parents] if inside and top is None else [path]

        async def work(tx: Tx) -> tuple[Repo | None, Worktree | None]:
            worktree = await tx.one(WORKTREES.by_path, Worktree, path=str(path))
            if worktree is not None:
                return await records.repo_of(tx, worktree), worktree
            for candidate in folders:
                repo = await tx.one(REPOS.by_path, Repo, path=str(candidate))
                if repo is not None:
                    return repo, None
            return None, None

        return await self._store.read(work)

    async def detail(self, worktree_id: str) -> tuple[Worktree, WorktreeState | None, list[SessionUse]]:
        """Returns a worktree, its current git state (None if removed) and the sessions that use it."""

        async def work(tx: Tx) -> tuple[Worktree, Repo, list[SessionUse]]:
            row = await records.worktree(tx, worktree_id)
            return (
                row,
                await records.repo_of(tx, row),
                await tx.all(WORKTREES.sessions, SessionUse, id=row.id, limit=MOST_USES),
            )

        row, repo, uses = await self._store.read(work)
        return row, await read_state(row, repo) if row.removed_at is None else None, uses

    async def patch(self, worktree_id: str, patch: WorktreePatch) -> Worktree:
        columns: dict[str, Any] = {
            name: getattr(patch, name) for name in ("x", "y") if getattr(patch, name) is not msgspec.UNSET
        }
        if patch.name is not msgspec.UNSET:
            columns["name"] = checked_name(patch.name)
        if patch.notes is not msgspec.UNSET:
            columns["notes"] = checked_notes(patch.notes)

        async def work(change: Change) -> Worktree:
            row = await records.worktree(change.tx, worktree_id)
            chosen = dict(columns)
            if patch.board_id is not msgspec.UNSET:
                board = await find(change.tx, "boards", patch.board_id, BOARDS.get, Board) if patch.board_id else None
                chosen["board_id"] = board.id if board else None
            if not chosen:
                raise Invalid("nothing_to_change", "Give at least one field to change.")
            if row.removed_at is not None and chosen.get("board_id") is not None:
                raise Conflict("worktree_removed", f"Worktree {row.name} was removed.")
            return await records.update(change, row.id, **chosen)

        return await self._store.write(work)

    async def diff(self, worktree_id: str, against: Literal["base", "head"] = "base") -> Diff:
        """Returns the changes in a worktree since it started or since its last commit, untracked files included."""
        row = await self._store.read(lambda tx: records.usable(tx, worktree_id))
        path = str(resolve_inside(self._settings.root_path, row.path, noun="folder", data=self._settings.data_path))
        base = await git.resolve(path, row.base_sha) if against == "base" and row.base_sha else None
        return await diff(path, base or await git.resolve(path, "HEAD"))

    async def losses(self, worktree_id: str, besides: str | None = None) -> Losses:
        """Returns what `remove` would lose and whether it would refuse."""
        if besides is not None:
            session = besides
            besides = await self._store.read(lambda tx: find_id(tx, "sessions", session))
        return await losses(self._store, worktree_id, besides)

    async def check_removal(self, worktree_id: str, *, force: bool, besides: str | None = None) -> None:
        """Raises what `remove` would raise, without doing anything. The session `besides` is about to end."""
        await self._removal.check(worktree_id, force=force, besides=besides)

    async def remove(
        self,
        caller: Caller,
        worktree_id: str,
        *,
        force: bool = False,
        branch: BranchFate = "keep",
        last_look: LastLook | None = None,
    ) -> Removed:
        return await self._removal.remove(caller, worktree_id, force=force, branch=branch, last_look=last_look)

    async def set_up(self, caller: Caller, worktree_id: str, *, wait: bool = True) -> Worktree:
        """Repeats the setup of a worktree."""
        return await self._creation.set_up_again(caller, worktree_id, wait=wait)

    async def recover(self, caller: Caller, worktree_id: str) -> Worktree:
        return await self._removal.recovery.recover(caller, worktree_id)

    async def discard(self, caller: Caller, scope: KeyScope, worktree: Worktree) -> None:
        """Removes a worktree created for something that failed, but never one with work in it."""
        try:
            await until_available(
                lambda: self._discard(caller, worktree), "a failed worktree", within=UNDO_WITHIN, worktree=worktree.id
            )
            await until_available(
                lambda: self._store.forget_answer(caller, scope), "a failed worktree", within=UNDO_WITHIN
            )
        except BoughError as error:
            log.warning("worktree_kept", worktree=worktree.id, error=error.message)

    async def _discard(self, caller: Caller, worktree: Worktree) -> None:
        row = await self._store.read(lambda tx: records.worktree(tx, worktree.id))
        if row.removed_at is None:
            await self.remove(caller, row.id, branch="delete" if row.branch_made else "keep")

    async def withdraw(self, caller: Caller, scope: KeyScope, worktree: Worktree, *, new: bool) -> None:
        """Removes what `begin` returned for something that failed, and releases the key. A new worktree is not kept,
        because it only held copies. Never raises, because the caller is already handling an error."""
        try:
            await until_available(
                lambda: self._withdraw(caller, worktree, new),
                "a failed worktree",
                within=UNDO_WITHIN,
                worktree=worktree.id,
            )
        except Exception as error:
            log.warning("worktree_kept", worktree=worktree.id, path=worktree.path, error=str(error))
            if caller.kind == "system" or isinstance(error, Unavailable):
                # By its mark the next start finds it; by its key a repeated request does.
                return
        try:
            await until_available(
                lambda: self._store.forget_answer(caller, scope), "a failed worktree", within=UNDO_WITHIN
            )
        except Exception as error:
            log.warning("key_kept", worktree=worktree.id, error=str(error))

    async def _withdraw(self, caller: Caller, worktree: Worktree, new: bool) -> None:
        row = await self._store.read(lambda tx: records.worktree(tx, worktree.id))
        if row.removed_at is None:
            branch = "delete" if row.branch_made else "keep"
            row = (await self.remove(caller, row.id, force=True, branch=branch)).worktree
        if new:
            repo = await self._store.read(lambda tx: records.repo_of(tx, row))
            await worktree_recovery.drop(repo.path, row.id)
            columns = {"recovery_ref": None, "recovery_sha": None}
            await self._store.write(lambda change: records.quietly(change, row.id, **columns))

    async def repair(self) -> None:
        """Repairs the worktrees that the last server was creating, setting up, removing or recovering."""
        await self._repair.repair_all()

    async def run(self) -> None:
        """Repairs worktrees whose creation, setup, removal or recovery could not be stored, until cancelled."""
        await self._repair.run()

    async def close(self) -> None:
        """Ends creations, setups, removals and recoveries that are under way."""
        await self._removal.close()
