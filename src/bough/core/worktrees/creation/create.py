"""Creates worktrees (W1): first the row, then git, then the setup, so that start-up can undo whatever a crash
leaves."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import structlog

from bough.core.store.idempotency import KeyScope, replace_answer
from bough.core.store.short_ids import find
from bough.core.store.sql import BOARDS, REPOS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees import records
from bough.core.worktrees.creation import setup
from bough.core.worktrees.paths import free_inside, resolve_inside
from bough.core.worktrees.records import NewWorktree, Start, checked_notes
from bough.core.worktrees.repos import checked_name
from bough.core.worktrees.session_folders import check_worktree_path
from bough.errors import BoughError, Conflict, Invalid, Unavailable
from bough.git import worktree_recovery
from bough.git import worktrees as git
from bough.git.paths import below, real
from bough.git.repo_lock import alone
from bough.git.run import GitFailed, Needs
from bough.git.run import git as run_git
from bough.git.safe import permissions
from bough.git.safe.location import find as find_location
from bough.model.repo import Board, Repo, Worktree
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.settings import Settings

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
    """Creates worktrees, sets them up, and undoes unfinished ones."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._jobs: dict[str, asyncio.Task[Worktree]] = {}
        self._creating: set[asyncio.Task[tuple[Worktree, bool]]] = set()

    async def create(
        self,
        caller: Caller,
        new: NewWorktree,
        scope: KeyScope = SCOPE,
        start: Start | None = None,
        *,
        by: Caller | None = None,
    ) -> tuple[Worktree, bool]:
        """Creates a worktree, with the files of `start` if given, or returns the one this key created. Also returns
        whether it is new. A caller that stops waiting does not cancel it. `by` is who wants it, if `caller` is only its
        mark."""
        return await run_shielded(self._create(caller, new, scope, start, by or caller), self._creating)

    async def _create(
        self, caller: Caller, new: NewWorktree, scope: KeyScope, start: Start | None, by: Caller
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
                self.start(repo, worktree)
        return await self.settled(caller, scope, worktree, wait=new.wait), earlier is None

    async def _known(
        self, caller: Caller, scope: KeyScope, new: NewWorktree, repo: Repo, start: Start | None
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

    async def plan(self, new: NewWorktree) -> tuple[Repo, git.Branch, Path]:
        """Returns what `create` would make, or raises the same errors. Changes nothing and reserves nothing."""
        repo = await self._store.read(lambda tx: find(tx, "repos", new.repo_id, REPOS.get, Repo))
        resolve_inside(self._settings.root_path, repo.path, noun="folder", data=self._settings.data_path)
        common = await git.common_folder(repo.path)
        await git.checked_branch(repo.path, new.branch or "")
        branch, path = await self._plan(repo, common, new, None)
        if await self._store.read(lambda tx: tx.one(WORKTREES.by_path, Worktree, path=str(path))) is not None:
            raise _registered(path)
        return repo, branch, path

    async def _plan(self, repo: Repo, common: str, new: NewWorktree, start: Start | None) -> tuple[git.Branch, Path]:
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
        start: Start | None,
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
            hook_error = await self._checkout(repo, common, path, branch, lock, start)
            in_doubt = True
            return await self._finish(caller, scope, repo, row, hook_error, by)
        except BaseException:
            await asyncio.shield(self._undo_all(caller, scope, repo, row, in_doubt=in_doubt))
            raise

    async def _checkout(
        self, repo: Repo, common: str, path: Path, branch: git.Branch, lock: int, start: Start | None
    ) -> str | None:
        """Runs git and writes the initial files. Returns the error of a failed hook."""
        hook_error = await add_keeping_hooks(repo.path, str(path), branch, None, lock)
        await git.exclude(common, repo.path, str(path))
        if start is not None:
            await worktree_recovery.restore(str(path), start.sha)
        if (path / ".gitmodules").exists() and permissions.allowed(find_location(str(path))).submodules:
            # Writes to the configuration that all worktrees share; the clone itself can wait.
            try:
                await run_git(str(path), "submodule", "--quiet", "init", needs=Needs(network=True))
            except GitFailed as error:
                log.warning("submodules_not_initialized", path=str(path), error=error.message)
        return hook_error

    async def _finish(
        self, caller: Caller, scope: KeyScope, repo: Repo, row: Worktree, hook_error: str | None, by: Caller
    ) -> Worktree:
        status = "setting_up" if setup.is_needed(repo, row.path) else "ready"

        async def work(change: Change) -> Worktree:
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

    def start(self, repo: Repo, worktree: Worktree) -> None:
        """Starts the setup of a worktree."""
        job = asyncio.create_task(self._set_up(repo, worktree), name=f"setup {worktree.id}")
        self._jobs[worktree.id] = job
        job.add_done_callback(lambda done: self._ended(worktree, done))

    def _ended(self, worktree: Worktree, job: asyncio.Task[Worktree]) -> None:
        self._jobs.pop(worktree.id, None)
        if not job.cancelled() and (error := job.exception()) is not None:
            log.error("worktree_setup_broke", worktree=worktree.id, error=repr(error), exc_info=error)

    def is_abandoned(self, row: Worktree) -> bool:
        """Tells whether the row says that the worktree is being set up, but nobody does. Call it only with the lock of
        the repository."""
        return row.status == "setting_up" and row.id not in self._jobs

    async def settled(self, caller: Caller, scope: KeyScope, worktree: Worktree, *, wait: bool) -> Worktree:
        """Returns the worktree, after its setup if `wait` is set."""
        if not wait or worktree.id not in self._jobs:
            return worktree
        done = await self.ended(worktree)
        await until_available(
            lambda: self._store.replace_answer(caller, scope, done), "a setup", within=UNDO_WITHIN, worktree=done.id
        )
        return done

    async def ended(self, worktree: Worktree) -> Worktree:
        """Waits for the setup and returns the worktree."""
        job = self._jobs.get(worktree.id)
        if job is None:
            return worktree
        await asyncio.wait([job])
        # The setup may have been cancelled because the worktree was removed.
        if job.cancelled():
            return await self._store.read(lambda tx: records.worktree(tx, worktree.id))
        return job.result()

    async def _set_up(self, repo: Repo, worktree: Worktree) -> Worktree:
        async def show(output: str) -> None:
            # While the database is away nothing is shown; the command goes on.
            with contextlib.suppress(Unavailable):
                await self._store.write(lambda change: records.update(change, worktree.id, setup_output=output))

        outcome = await setup.set_up(repo, worktree.path, self._settings.setup_timeout, show)
        errors = "\n".join(error for error in (worktree.setup_error, outcome.error) if error) or None
        if errors:
            log.warning("worktree_setup_failed", worktree=worktree.id, error=errors)
        done = {"status": "ready", "setup_error": errors, "setup_output": outcome.output}
        write = self._store.write
        return await until_available(
            lambda: write(lambda change: records.update(change, worktree.id, **done)), "a setup", worktree=worktree.id
        )

    async def stop(self, worktree_id: str) -> None:
        """Stops a running setup."""
        job = self._jobs.get(worktree_id)
        if job is not None:
            job.cancel()
            await asyncio.wait([job])

    async def close(self) -> None:
        """Undoes worktrees in creation and stops every setup; the next server reports the interruption."""
        jobs = [*self._creating, *self._jobs.values()]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    async def _undo_all(self, caller: Caller, scope: KeyScope, repo: Repo, row: Worktree, *, in_doubt: bool) -> None:
        """Undoes a worktree and its key. One that may be stored as made is undone only if it is not."""
        if in_doubt:
            read = self._store.read
            known = await until_available(
                lambda: read(lambda tx: tx.one(WORKTREES.get, Worktree, id=row.id)), "a worktree", within=UNDO_WITHIN
            )
            if known is not None and known.status != "making":
                return
        await self.undo(repo, row)
        await until_available(lambda: self._store.forget_answer(caller, scope), "a failed worktree", within=UNDO_WITHIN)

    async def undo(self, repo: Repo, row: Worktree) -> None:
        """Removes the folder, branch and row of a worktree that was never announced."""
        try:
            if not await git.clear(repo.path, row.path):
                log.warning("worktree_leftovers", path=row.path, hint="not a worktree in git, so left alone")
            git.tidy(row.path, repo.path)
            if row.branch_made and row.branch is not None:
                await git.delete_branch(repo.path, row.branch)
        except (BoughError, OSError) as error:
            log.warning("worktree_not_undone", path=row.path, error=str(error))
        await until_available(
            lambda: self._store.write(lambda change: change.tx.run(WORKTREES.forget, id=row.id)),
            "a failed worktree",
            within=UNDO_WITHIN,
            worktree=row.id,
        )


async def add_keeping_hooks(
    repo: str, path: str, branch: git.Branch | None, sha: str | None, lock: int | None
) -> str | None:
    """Runs `git worktree add`. If git fails but the worktree is complete, only a hook failed, and its error is
    returned. Git itself cleans up what it could not finish."""
    try:
        await git.add(repo, path, branch, sha, lock)
    except GitFailed as error:
        listed = await git.find_worktree(repo, path) if error.code == "git_failed" else None
        if listed is None or listed.locked is not None or listed.prunable:
            raise
        return f"The post-checkout hook failed: {error.message}"
    return None


def _registered(path: Path) -> Conflict:
    return Conflict("path_exists", f"Bough already has a worktree at {path}.", path=str(path))


def _request_identity(new: NewWorktree, start: Start | None) -> Any:
    """Returns the parts of a request that identify a repeat. Generated names and moving files do not count."""
    if start is not None:
        return [new.repo_id, start.asked]
    return NewWorktree(new.repo_id, new.branch, new.path, new.base, new.name, new.notes, new.board_id, new.x, new.y)
