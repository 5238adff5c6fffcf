"""Making worktrees (W1): the row first, then git, then the setup, so that whatever a crash leaves is found and undone.
Removing them again is `worktree_removal`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import structlog

from bough.core.store.short_ids import find
from bough.core.store.sql import BOARDS, REPOS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import records as rows
from bough.core.worktrees import setup
from bough.core.worktrees.paths import free_inside, resolve_inside
from bough.core.worktrees.records import NewWorktree, Start, checked_notes
from bough.core.worktrees.repos import checked_name
from bough.errors import BoughError, Conflict, Invalid
from bough.git import worktree_recovery
from bough.git import worktrees as git
from bough.git.paths import below, real
from bough.git.repo_lock import alone
from bough.git.run import GitFailed
from bough.git.run import git as run_git
from bough.model.ids import new_id
from bough.model.repo import Board, Repo, Worktree
from bough.model.session import Caller
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

FOLDER = ".worktrees"
SCOPE = "worktrees.create"
# What git itself keeps in a bare repository, where no worktree goes.
GITS_OWN = frozenset({"objects", "refs", "worktrees", "hooks", "info", "logs", "modules", "branches"})
INTERRUPTED = "The setup was cut off by the end of the server. Run it by hand if it is needed."


class Making:
    """Makes worktrees, sets them up, and undoes what was not finished."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._jobs: dict[str, asyncio.Task[Worktree]] = {}
        self._making: set[asyncio.Task[tuple[Worktree, bool]]] = set()

    async def create(
        self, caller: Caller, new: NewWorktree, scope: str = SCOPE, start: Start | None = None
    ) -> tuple[Worktree, bool]:
        """Makes a worktree, with the files of `start` if they are given, or gives the one that this key has made; and
        whether it is new. Whoever stops waiting does not stop it."""
        making = asyncio.create_task(self._create(caller, new, scope, start))
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        return await asyncio.shield(making)

    async def _create(self, caller: Caller, new: NewWorktree, scope: str, start: Start | None) -> tuple[Worktree, bool]:
        repo = await self._store.read(lambda tx: find(tx, "repos", new.repo_id, REPOS.get, Repo))
        resolve_inside(self._settings.root_path, repo.path, what="folder", data=self._settings.data_path)
        common = await git.common_folder(repo.path)
        assert new.branch is not None
        await git.checked_branch(repo.path, new.branch)
        title = checked_name(new.name if new.name is not None else new.branch)
        checked_notes(new.notes)
        async with alone(common) as lock:
            known = await self._known(caller, scope, new, repo, start)
            made = known or await self._add(caller, new, scope, repo, common, title, lock, start)
            if known is None and setup.wanted(repo, made.path):
                self.start(repo, made)
        return await self.settled(caller, scope, made, wait=new.wait), known is None

    async def _known(
        self, caller: Caller, scope: str, new: NewWorktree, repo: Repo, start: Start | None
    ) -> Worktree | None:
        """What this key has made; one that was never finished is undone, and the key let go of."""
        kept = await self._store.kept(caller, scope, _said(new, start), Worktree)
        if kept is None:
            return None
        row = await self._store.read(lambda tx: tx.one(WORKTREES.get, Worktree, id=kept.id))
        # One that is only a part of something has to be there.
        gone = row is not None and row.removed_at is not None and start is not None
        if row is not None and row.status != "making" and not gone:
            return kept if kept.status == "ready" else row
        if row is not None and not gone:
            await self.undo(repo, row)
        await self._store.forget_answer(caller, scope)
        return None

    async def plan(self, new: NewWorktree) -> tuple[Repo, git.Branch, Path]:
        """What `create` would make, refused in the same way; nothing is done, and the next may be told the same."""
        repo = await self._store.read(lambda tx: find(tx, "repos", new.repo_id, REPOS.get, Repo))
        resolve_inside(self._settings.root_path, repo.path, what="folder", data=self._settings.data_path)
        common = await git.common_folder(repo.path)
        await git.checked_branch(repo.path, new.branch or "")
        branch, path = await self._plan(repo, common, new, None)
        if await self._store.read(lambda tx: tx.one(WORKTREES.by_path, Worktree, path=str(path))) is not None:
            raise _registered(path)
        return repo, branch, path

    async def _plan(self, repo: Repo, common: str, new: NewWorktree, start: Start | None) -> tuple[git.Branch, Path]:
        """Which branch it is of, and where it goes."""
        assert new.branch is not None
        base = start.head if start is not None else new.base
        branch = await git.find_branch(repo.path, new.branch, base, repo.default_branch)
        if (taken := await git.checked_out_at(repo.path, branch.name)) is not None:
            raise Conflict(
                "branch_in_use",
                f"Branch {branch.name} is checked out at {taken}, and a branch can be in one place only. Work there, "
                "or choose another name.",
                path=taken,
            )
        if start is not None and branch.sha != start.head:
            raise Conflict(
                "branch_exists",
                f"Branch {branch.name} is there already and stands on another commit than the files to begin with, "
                "which would undo what it holds. Choose another name.",
                branch=branch.name,
                sha=branch.sha,
            )
        return branch, await self._place(repo, common, new.path or os.path.join(FOLDER, new.branch))

    async def _add(
        self,
        caller: Caller,
        new: NewWorktree,
        scope: str,
        repo: Repo,
        common: str,
        title: str,
        lock: int,
        start: Start | None,
    ) -> Worktree:
        """Row, git, row. Under the lock, so that a row found `making` by whoever has the lock next was left behind."""
        branch, path = await self._plan(repo, common, new, start)
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
                raise _registered(path)
            return row

        row = await self._store.write_once(caller, scope, _said(new, start), Worktree, insert)
        try:
            told = await self._checkout(repo, common, path, branch, lock, start)
            return await self._finish(caller, scope, repo, row, told)
        except BaseException:
            await asyncio.shield(self._undo_all(caller, scope, repo, row))
            raise

    async def _checkout(
        self, repo: Repo, common: str, path: Path, branch: git.Branch, lock: int, start: Start | None
    ) -> str | None:
        """Has git make it, and brings in the files that it begins with; gives what a hook complained of."""
        told = await add_keeping_hooks(repo.path, str(path), branch, None, lock)
        await git.exclude(common, repo.path, str(path))
        if start is not None:
            await worktree_recovery.restore(str(path), start.sha)
        if (path / ".gitmodules").exists():
            # Writes to the configuration that all worktrees share; cloning can be left for later.
            try:
                await run_git(str(path), "submodule", "--quiet", "init")
            except GitFailed as error:
                log.warning("submodules_not_initialised", path=str(path), error=error.message)
        return told

    async def _finish(self, caller: Caller, scope: str, repo: Repo, row: Worktree, told: str | None) -> Worktree:
        status = "setting_up" if setup.wanted(repo, row.path) else "ready"

        async def work(change: Change) -> Worktree:
            fresh = await rows.quietly(change, row.id, status=status, setup_error=told)
            change.emit("worktree.created", fresh)
            # Together: once it is visible, nothing may fail any more that would undo it.
            await self._store.answer_in(change, caller, scope, fresh)
            return fresh

        made = await self._store.write(work)
        log.info("worktree_made", worktree=made.id, path=made.path, branch=made.branch)
        return made

    async def _place(self, repo: Repo, common: str, given: str) -> Path:
        """Where it goes: free, allowed, and inside of no other worktree or git's own folders."""
        settings = self._settings
        path = free_inside(settings.root_path, Path(repo.path), given, data=settings.data_path)
        bare = common == repo.path
        gits = Path(common)
        if gits in path.parents and (not bare or path.relative_to(gits).parts[0] in GITS_OWN):
            raise Invalid("bad_path", f"{path} lies in the repository's own data.")
        for one in (await git.entries(repo.path))[1:]:
            if below(str(path), one.path) and real(one.path) != repo.path:
                raise Invalid("bad_path", f"{path} lies inside of another worktree, {one.path}. Choose another path.")
        return path

    def start(self, repo: Repo, made: Worktree) -> None:
        """Begins with the setup of a worktree."""
        job = asyncio.create_task(self._set_up(repo, made), name=f"setup {made.id}")
        self._jobs[made.id] = job
        job.add_done_callback(lambda _: self._jobs.pop(made.id, None))

    async def settled(self, caller: Caller, scope: str, made: Worktree, *, wait: bool) -> Worktree:
        """The worktree, as it is when its setup has ended if that is waited for."""
        if not wait or made.id not in self._jobs:
            return made
        done = await self.ended(made)
        await self._store.keep_answer(caller, scope, done)
        return done

    async def ended(self, made: Worktree) -> Worktree:
        """The worktree as it is after its setup."""
        job = self._jobs.get(made.id)
        if job is None:
            return made
        await asyncio.wait([job])
        # It may have been ended because the worktree was removed meanwhile.
        return job.result() if not job.cancelled() else await self._store.read(lambda tx: rows.worktree(tx, made.id))

    async def _set_up(self, repo: Repo, made: Worktree) -> Worktree:
        async def show(output: str) -> None:
            await self._store.write(lambda change: rows.update(change, made.id, setup_output=output))

        outcome = await setup.set_up(repo, made.path, self._settings.setup_timeout, show)
        errors = "\n".join(one for one in (made.setup_error, outcome.error) if one) or None
        if errors:
            log.warning("worktree_setup_failed", worktree=made.id, error=errors)
        done = {"status": "ready", "setup_error": errors, "setup_output": outcome.output}
        return await self._store.write(lambda change: rows.update(change, made.id, **done))

    async def stop(self, worktree_id: str) -> None:
        """Ends a setup that runs."""
        job = self._jobs.get(worktree_id)
        if job is not None:
            job.cancel()
            await asyncio.wait([job])

    async def close(self) -> None:
        """Undoes what is being made and ends every setup; the next server says that it was cut off."""
        jobs = [*self._making, *self._jobs.values()]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    async def _undo_all(self, caller: Caller, scope: str, repo: Repo, row: Worktree) -> None:
        await self.undo(repo, row)
        await self._store.forget_answer(caller, scope)

    async def undo(self, repo: Repo, row: Worktree) -> None:
        """Takes away what there is of a worktree that nobody was told of: folder, branch, row."""
        try:
            if not await git.clear(repo.path, row.path):
                log.warning("worktree_leftovers", path=row.path, hint="git knows no worktree there, so it was left")
            git.tidy(row.path, repo.path)
            if row.branch_made and row.branch is not None:
                await git.delete_branch(repo.path, row.branch)
        except (BoughError, OSError) as error:
            log.warning("worktree_not_undone", path=row.path, error=str(error))
        await self._store.write(lambda change: change.tx.run(WORKTREES.forget, id=row.id))


async def add_keeping_hooks(
    repo: str, path: str, branch: git.Branch | None, sha: str | None, lock: int | None
) -> str | None:
    """Has git make a worktree. One that is there although git failed is whole: only a hook complained, of what is told;
    git itself takes away what it could not finish."""
    try:
        await git.add(repo, path, branch, sha, lock)
    except GitFailed as error:
        found = await git.entry(repo, path) if error.code == "git_failed" else None
        if found is None or found.locked is not None or found.prunable:
            raise
        return f"The hook post-checkout failed: {error.message}"
    return None


def _registered(path: Path) -> Conflict:
    return Conflict("path_exists", f"A worktree of Bough's is registered at {path} already.", path=str(path))


def _said(new: NewWorktree, start: Start | None) -> Any:
    """What of a request makes it the same one; names that were thought up and files that move on do not."""
    if start is not None:
        return [new.repo_id, start.asked]
    return NewWorktree(new.repo_id, new.branch, new.path, new.base, new.name, new.notes, new.board_id, new.x, new.y)


async def unfinished(tx: Tx) -> list[tuple[Worktree, Repo]]:
    """Whatever the last server left half done, with its repository."""
    found = await tx.all(WORKTREES.unfinished, Worktree)
    return [(row, await rows.repo_of(tx, row)) for row in found]
