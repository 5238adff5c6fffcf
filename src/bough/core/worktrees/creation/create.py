"""Creates worktrees (W1): first the row, then git, then the setup, so that start-up can undo whatever a crash
leaves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import structlog

from bough.core.store.idempotency import KeyScope, RecordScope, replace_answer
from bough.core.store.short_ids import find
from bough.core.store.sql import BOARDS, REPOS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees import records
from bough.core.worktrees.allowed_paths import free_inside, resolve_inside
from bough.core.worktrees.creation import setup
from bough.core.worktrees.creation.checkout import check_out
from bough.core.worktrees.creation.setup_jobs import SetupJobs
from bough.core.worktrees.ports import PortBlocks
from bough.core.worktrees.records import NewWorktree, StartFiles, checked_notes
from bough.core.worktrees.repos import checked_name
from bough.core.worktrees.session_folders import check_worktree_path
from bough.errors import BoughError, Conflict, Invalid
from bough.git import worktrees as git
from bough.git.paths import below, real
from bough.git.repo_lock import alone
from bough.model.repo import Board, Repo, Worktree
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

T = TypeVar("T")

FOLDER = ".worktrees"
SCOPE = "worktrees.create"
# Git's own entries in a bare repository, where no worktree may go.
GITS_OWN = frozenset({"objects", "refs", "worktrees", "hooks", "info", "logs", "modules", "branches"})


async def run_shielded(work: Coroutine[Any, Any, T], owner: set[asyncio.Task[T]]) -> T:
    """Runs work that a cancelled request does not cancel. `owner` holds its task until it has ended."""
    task = asyncio.create_task(work)
    owner.add(task)
    task.add_done_callback(owner.discard)
    return await asyncio.shield(task)


class WorktreeCreation:
    """Creates worktrees, starts their setups, and undoes unfinished ones."""

    def __init__(self, store: Store, settings: Settings, ports: PortBlocks) -> None:
        self._store = store
        self._settings = settings
        self.setups = SetupJobs(store, settings, ports)
        self._creating: set[asyncio.Task[tuple[Worktree, bool]]] = set()

    async def create(
        self,
        caller: Caller,
        new: NewWorktree,
        scope: KeyScope = SCOPE,
        start: StartFiles | None = None,
        *,
        by: Caller | None = None,
    ) -> tuple[Worktree, bool]:
        """Creates a worktree, with the files of `start` if given, or returns the one this key created. Also returns
        whether it is new. A caller that stops waiting does not cancel it. `by` is who wants it, if `caller` is only its
        mark."""
        return await run_shielded(self._create(caller, new, scope, start, by or caller), self._creating)

    async def _create(
        self, caller: Caller, new: NewWorktree, scope: KeyScope, start: StartFiles | None, by: Caller
    ) -> tuple[Worktree, bool]:
        repo = await self._store.read(lambda tx: find(tx, "repos", new.repo_id, REPOS.get, Repo))
        resolve_inside(self._settings.root_path, repo.path, noun="folder", data=self._settings.data_path)
        common = await git.common_folder(repo.path)
        assert new.branch is not None
        await git.checked_branch(repo.path, new.branch)
        title = checked_name(new.name if new.name is not None else new.branch)
        checked_notes(new.notes)
        async with alone(common) as lock:
            earlier = await self._known(caller, scope, new, repo, start)
            worktree = earlier or await self._add(caller, new, scope, repo, common, title, lock, start, by)
            if earlier is None and setup.is_needed(repo, worktree.path):
                self.setups.start(repo, worktree)
        return await self.setups.settled(caller, scope, worktree, wait=new.wait), earlier is None

    async def _known(
        self, caller: Caller, scope: KeyScope, new: NewWorktree, repo: Repo, start: StartFiles | None
    ) -> Worktree | None:
        """Returns the worktree that this key created. An unfinished one is undone and its key released."""
        stored = await self._store.stored_answer(caller, scope, _request_identity(new, start), Worktree)
        if stored is None:
            return None
        row = await self._store.read(lambda tx: tx.one(WORKTREES.get, Worktree, id=stored.id))
        # A worktree created for a branch or race must still exist.
        was_removed = row is not None and row.removed_at is not None and start is not None
        if row is not None and row.status != "making" and not was_removed:
            return stored if stored.status == "ready" else row
        if row is not None and not was_removed:
            await self.undo(repo, row)
        await self._store.forget_answer(caller, scope)
        return None

    async def set_up_again(self, caller: Caller, worktree_id: str, *, wait: bool) -> Worktree:
        """Repeats the setup of a worktree, for example after a person has allowed it; once for an idempotency key."""
        is_claimed = False

        async def find_both(tx: Tx) -> tuple[Worktree, Repo]:
            row = await records.usable(tx, worktree_id)
            return row, await records.repo_of(tx, row)

        async def claim(change: Change) -> Worktree:
            nonlocal is_claimed
            is_claimed = True
            row = await records.usable(change.tx, worktree_id)
            return await records.update(change, row.id, status="setting_up", setup_error=None, setup_output=None)

        row, repo = await self._store.read(find_both)
        scope = RecordScope("worktrees.setup", "worktrees", row.id)
        for path in (row.path, repo.path):
            resolve_inside(self._settings.root_path, path, noun="folder", data=self._settings.data_path)
        if not setup.is_needed(repo, row.path):
            raise Conflict("nothing_to_set_up", f"Repository {repo.name} has no setup for its worktrees.")
        async with alone(await git.common_folder(repo.path)):
            # If the reply is lost, the next look finds a setup that nobody runs.
            row = await self._store.write_once(caller, scope, None, Worktree, claim)
            if is_claimed:
                self.setups.start(repo, row)
        return await self.setups.settled(caller, scope, row, wait=wait)

    async def plan(self, new: NewWorktree) -> tuple[Repo, git.GitBranch, Path]:
        """Returns what `create` would make, or raises the same errors. Changes nothing and reserves nothing."""
        repo = await self._store.read(lambda tx: find(tx, "repos", new.repo_id, REPOS.get, Repo))
        resolve_inside(self._settings.root_path, repo.path, noun="folder", data=self._settings.data_path)
        common = await git.common_folder(repo.path)
        await git.checked_branch(repo.path, new.branch or "")
        branch, path = await self._plan(repo, common, new, None)
        if await self._store.read(lambda tx: tx.one(WORKTREES.by_path, Worktree, path=str(path))) is not None:
            raise _registered(path)
        return repo, branch, path

    async def _plan(
        self, repo: Repo, common: str, new: NewWorktree, start: StartFiles | None
    ) -> tuple[git.GitBranch, Path]:
        """Decides the branch and the path."""
        assert new.branch is not None
        base = start.head if start is not None else new.base
        branch = await git.find_branch(repo.path, new.branch, base, repo.default_branch)
        if (elsewhere := await git.checked_out_at(repo.path, branch.name)) is not None:
            raise Conflict(
                "branch_in_use",
                f"Branch {branch.name} is checked out at {elsewhere}, and git allows a branch in only "
                "one worktree. Work there, or choose another name.",
                path=elsewhere,
            )
        if start is not None and branch.sha != start.head:
            raise Conflict(
                "branch_exists",
                f"Branch {branch.name} exists at a different commit than the files to start with, so its commits "
                "would be undone. Choose another name.",
                branch=branch.name,
                sha=branch.sha,
            )
        return branch, await self._place(repo, common, new.path or os.path.join(FOLDER, new.branch))

    async def _add(
        self,
        caller: Caller,
        new: NewWorktree,
        scope: KeyScope,
        repo: Repo,
        common: str,
        title: str,
        lock: int,
        start: StartFiles | None,
        by: Caller,
    ) -> Worktree:
        """Writes the row, runs git, updates the row. The lock guarantees that a row found in status `making` was left
        by a crash."""
        branch, path = await self._plan(repo, common, new, start)
        check_worktree_path(by, path, Path(repo.path) / FOLDER, self._settings.data_path)
        worktree_id = new_id()

        async def insert(change: Change) -> Worktree:
            board = await find(change.tx, "boards", new.board_id, BOARDS.get, Board) if new.board_id else None
            row = await change.tx.one(
                WORKTREES.add,
                Worktree,
                id=worktree_id,
                repo_id=repo.id,
                name=title,
                path=str(path),
                branch=branch.name,
                base_ref=branch.base_ref,
                base_sha=branch.base_sha,
                made_by_bough=True,
                notes=new.notes,
                board_id=board.id if board else None,
                x=new.x,
                y=new.y,
                status="making",
                branch_made=branch.kind != "local",
                now=change.now,
            )
            if row is None:
                row = await change.tx.one(WORKTREES.get, Worktree, id=worktree_id)
            if row is None:
                raise _registered(path)
            return row

        row = await until_available(
            lambda: self._store.write_once(caller, scope, _request_identity(new, start), Worktree, insert),
            "a new worktree",
            within=UNDO_WITHIN,
        )
        in_doubt = False
        try:
            hook_error = await check_out(repo, common, path, branch, lock, start)
            in_doubt = True
            return await self._finish(caller, scope, repo, row, hook_error, by)
        except BaseException:
            await asyncio.shield(self._undo_all(caller, scope, repo, row, in_doubt=in_doubt))
            raise

    async def _finish(
        self, caller: Caller, scope: KeyScope, repo: Repo, row: Worktree, hook_error: str | None, by: Caller
    ) -> Worktree:
        status = "setting_up" if setup.is_needed(repo, row.path) else "ready"

        async def work(change: Change) -> Worktree:
            known = await change.tx.one(WORKTREES.get, Worktree, id=row.id)
            if known is not None and known.status != "making":
                # It was stored, and only the reply was lost.
                return known
            fresh = await records.quietly(change, row.id, status=status, setup_error=hook_error)
            change.emit("worktree.created", fresh)
            change.audit(by, "worktree.created", subject_id=fresh.id, path=fresh.path, branch=fresh.branch)
            # One transaction: once the worktree is visible, nothing that could still fail may undo it.
            await replace_answer(change.tx, caller, scope, fresh)
            return fresh

        # Until it is stored: a worktree that is stored as made must not be undone because the reply was lost.
        made = await until_available(lambda: self._store.write(work), "a new worktree", worktree=row.id)
        log.info("worktree_created", worktree=made.id, path=made.path, branch=made.branch)
        return made

    async def _place(self, repo: Repo, common: str, wanted_path: str) -> Path:
        """Resolves the path: free, allowed, and outside other worktrees and git's own folders."""
        settings = self._settings
        path = free_inside(settings.root_path, Path(repo.path), wanted_path, data=settings.data_path)
        bare = common == repo.path
        gits = Path(common)
        if gits in path.parents and (not bare or path.relative_to(gits).parts[0] in GITS_OWN):
            raise Invalid("bad_path", f"{path} is inside the repository's git data.")
        for other in (await git.list_worktrees(repo.path))[1:]:
            if below(str(path), other.path) and real(other.path) != repo.path:
                raise Invalid("bad_path", f"{path} is inside another worktree, {other.path}. Choose another path.")
        return path

    async def close(self) -> None:
        """Undoes worktrees in creation and stops every setup; the next server reports the interruption."""
        creating = list(self._creating)
        for task in creating:
            task.cancel()
        await self.setups.close()
        if creating:
            await asyncio.wait(creating)

    async def _undo_all(self, caller: Caller, scope: KeyScope, repo: Repo, row: Worktree, *, in_doubt: bool) -> None:
        """Undoes a worktree and its key. One that may be stored as made is undone only if it is not."""
        if in_doubt:
            read = self._store.read
            known = await until_available(
                lambda: read(lambda tx: tx.one(WORKTREES.get, Worktree, id=row.id)), "a worktree", within=UNDO_WITHIN
            )
            if known is not None and known.status != "making":
                return
        try:
            await self.undo(repo, row)
        except (BoughError, OSError) as error:
            # The row and the key stay: the next look, the next start or a repeated request tries again.
            log.warning("worktree_not_undone", worktree=row.id, path=row.path, error=str(error))
            return
        await until_available(lambda: self._store.forget_answer(caller, scope), "a failed worktree", within=UNDO_WITHIN)

    async def undo(self, repo: Repo, row: Worktree) -> None:
        """Removes the folder, branch and row of a worktree that was never announced, the row last: what cannot be
        removed keeps its owner."""
        if not await git.clear(repo.path, row.path):
            log.warning("worktree_leftovers", path=row.path, hint="not a worktree in git, so left alone")
        git.tidy(row.path, repo.path)
        if row.branch_made and row.branch is not None:
            await git.delete_branch(repo.path, row.branch)
        await until_available(
            lambda: self._store.write(lambda change: change.tx.run(WORKTREES.forget, id=row.id)),
            "a failed worktree",
            within=UNDO_WITHIN,
            worktree=row.id,
        )


def _registered(path: Path) -> Conflict:
    return Conflict("path_exists", f"Bough already has a worktree at {path}.", path=str(path))


def _request_identity(new: NewWorktree, start: StartFiles | None) -> Any:
    """Returns the parts of a request that identify a repeat. Generated names and moving files do not count."""
    if start is not None:
        return [new.repo_id, start.asked]
    return NewWorktree(new.repo_id, new.branch, new.path, new.base, new.name, new.notes, new.board_id, new.x, new.y)
