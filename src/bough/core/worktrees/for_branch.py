"""Decides where a branch works: in its source's folder, or in a new worktree with exactly the files of that moment,
including uncommitted and untracked ones (B2)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import AsyncGenerator, Coroutine, Generator
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
import structlog

from bough.core.checkpoints import rows as checkpoint_rows
from bough.core.checkpoints.take import Checkpoints
from bough.core.store.idempotency import RecordScope, forget_answer
from bough.core.store.sql import REPOS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.records import NewWorktree, SessionUse, StartFiles
from bough.core.worktrees.repair import LOOK_EVERY, REPAIR_WITHIN
from bough.core.worktrees.service import Worktrees
from bough.errors import BoughError, Conflict, Invalid
from bough.git.working_copy.snapshot import SnapshotTooLarge
from bough.git.working_copy.status import files
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller, Session
from bough.model.values.ids import new_id
from bough.storage.backend import Tx

T = TypeVar("T")

log = structlog.get_logger("bough.worktrees")

SCOPE = "sessions.branch.worktree"
# A worktree created without an idempotency key gets a generated one until its session exists, so that the next server
# finds and removes it after a crash.
MARKS = "sessions.branch.mark"
# Their scope as it is stored; these keys are kept however old they are.
STORED_MARKS = f"system::{MARKS}"
# Seconds for which everything in progress is waited for at the end.
CLOSE_WITHIN = 10.0
# Seconds in which a worktree gets its files; later changes are somebody's work.
MAKING_TAKES = 600.0
# Characters of a title that go into a branch name.
LONGEST_SLUG = 40


class BranchFolder(msgspec.Struct):
    """The folder that a branch works in. `mark` is set until a session exists there."""

    worktree_id: str | None
    cwd: str
    mark: Caller | None = None


class WorktreeRequest(msgspec.Struct, frozen=True):
    """The worktree requested for a branch: its git branch (named after `title` by default), its path, the task after
    which to copy the files, and whether ignored files are copied."""

    title: str
    branch: str | None = None
    path: str | None = None
    task_id: str | None = None
    ignored: bool = False


class BranchWorktrees:
    """Creates the folders for branches."""

    def __init__(self, store: Store, worktrees: Worktrees, files: Checkpoints) -> None:
        self._store = store
        self._worktrees = worktrees
        self._files = files
        self._turns: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()
        self._creating: set[asyncio.Task[Any]] = set()

    async def through(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its end even if the caller stops waiting."""
        job = asyncio.create_task(work)
        self._creating.add(job)
        job.add_done_callback(self._creating.discard)
        return await asyncio.shield(job)

    async def close(self) -> None:
        """Waits for everything in progress, but not for long: the next start undoes the rest."""
        if self._creating:
            await asyncio.wait(self._creating, timeout=CLOSE_WITHIN)

    @contextlib.asynccontextmanager
    async def turn(self, caller: Caller, source: Session) -> AsyncGenerator[None]:
        """Serializes requests with the same key: a repeat finds the first result, and nothing is removed under it."""
        if caller.idempotency_key is None:
            yield
            return
        lock = self._turns.setdefault(_whose(caller, source), asyncio.Lock())
        async with lock:
            yield

    @contextlib.asynccontextmanager
    async def create(
        self, caller: Caller, source: Session, request: WorktreeRequest, start: StartFiles | None = None
    ) -> AsyncGenerator[BranchFolder]:
        """Creates a worktree with the session's current files, those after a task, or those of `start`, and removes it
        if the branch fails. A worktree that this key created before is reused."""
        repo = await self._repo(source)
        # Racers are compared and merged as whole worktrees.
        subfolder = await self._subfolder(repo, source) if start is None else ""
        start = start or await self._state(source, request)
        start = msgspec.structs.replace(start, asked=(request.branch, request.path, request.task_id, request.ignored))
        name = request.branch or f"{_slug(request.title)}-{_suffix(caller, source)}"
        mark = marked(new_id()) if caller.idempotency_key is None else None
        maker, scope = (caller, RecordScope(SCOPE, "sessions", source.id)) if mark is None else (mark, MARKS)
        with held(self._worktrees, mark):
            new_worktree = NewWorktree(repo.id, name, request.path)
            worktree, new = await self._worktrees.begin(maker, new_worktree, scope, start, by=caller)
            try:
                cwd = await asyncio.to_thread(_folder_in, worktree.path, subfolder)
                yield BranchFolder(worktree.id, cwd, mark)
            except BaseException:
                await asyncio.shield(self._worktrees.withdraw(maker, scope, worktree, new=new))
                raise

    @contextlib.asynccontextmanager
    async def create_all(
        self, caller: Caller, source: Session, titles: list[str]
    ) -> AsyncGenerator[tuple[StartFiles, list[BranchFolder]]]:
        """Creates one worktree per title, in parallel, all with the same files: all of them or none."""
        # One key would stand for several worktrees.
        caller = msgspec.structs.replace(caller, idempotency_key=None)
        await self._repo(source)
        start = await self._state(source, WorktreeRequest(""))
        async with contextlib.AsyncExitStack() as stack:
            creating = [
                stack.enter_async_context(self.create(caller, source, WorktreeRequest(title), start))
                for title in titles
            ]
            folders: list[BranchFolder] = []
            # Waits for all before removing any.
            for folder in await asyncio.gather(*creating, return_exceptions=True):
                if isinstance(folder, BaseException):
                    raise folder
                folders.append(folder)
            yield start, folders

    async def run(self) -> None:
        """Removes worktrees whose sessions could not be stored, and which could not be removed at once, until
        cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.repair()
            except Exception as error:
                log.warning("worktrees_not_repaired", error=str(error))

    async def repair(self) -> None:
        """Removes worktrees that were created for sessions that never opened. Someone may have found them since, so
        their contents are kept on recovery refs, and those that someone has changed stay."""
        left = await self._store.stored_answers(marked(""), MARKS, Worktree)
        abandoned = [(key, made) for key, made in left.items() if key not in self._worktrees.open_marks]
        await asyncio.gather(*(self._repair(marked(key), made) for key, made in abandoned))

    async def _repair(self, mark: Caller, made: Worktree) -> None:
        try:
            row = await self._store.read(lambda tx: _left(tx, made))
            if row is not None and await _is_changed(row, made):
                log.info("worktree_kept", worktree=row.id, path=row.path, reason="somebody has changed it")
            elif row is not None:
                # A slow removal continues in the background after start-up.
                async with asyncio.timeout(REPAIR_WITHIN):
                    branch = "delete" if made.branch_made else "keep"
                    await self._worktrees.remove(mark, made.id, force=True, branch=branch)
                log.info("worktree_repaired", worktree=made.id, path=made.path, was="without a session")
            await self._store.forget_answer(mark, MARKS)
        except (BoughError, OSError, TimeoutError) as error:
            log.warning("worktree_not_repaired", worktree=made.id, path=made.path, error=str(error))

    async def _subfolder(self, repo: Repo, source: Session) -> str:
        """Returns where a session's folder is inside its worktree or repo; empty for the whole."""
        top = repo.path
        if (worktree_id := source.worktree_id) is not None:
            worktree = await self._store.read(lambda tx: tx.one(WORKTREES.get, Worktree, id=worktree_id))
            top = worktree.path if worktree is not None else top
        return source.cwd[len(top) + 1 :] if source.cwd.startswith(f"{top}/") else ""

    async def _repo(self, source: Session) -> Repo:
        repo = await self._store.read(lambda tx: tx.one(REPOS.get, Repo, id=source.repo_id))
        assert repo is not None
        if repo.kind != "git":
            raise Invalid("not_a_repository", f"{repo.path} is not a git repository, so it cannot have worktrees.")
        return repo

    async def _state(self, source: Session, request: WorktreeRequest) -> StartFiles:
        if (task_id := request.task_id) is not None:
            moment = await self._store.read(lambda tx: checkpoint_rows.moments(tx, task_id))
            checkpoint = moment.after
            if checkpoint is None or checkpoint.sha is None or checkpoint.head is None:
                why = checkpoint.note if checkpoint is not None and checkpoint.note else "none was taken"
                raise Conflict("no_checkpoint", f"The files after task {task_id} are not available: {why}.")
            return StartFiles(checkpoint.sha, checkpoint.head)
        try:
            shot = await self._files.snapshot(source.cwd, ignored=request.ignored)
        except SnapshotTooLarge as error:
            reason = f"The files at {source.cwd} cannot be copied: {error}"
            if request.ignored:
                reason += (
                    " Ignored ones were counted: leave out `ignored`, or have some copied by the repository's setup."
                )
            raise Conflict("no_checkpoint", reason) from error
        if shot.head is None:
            raise Conflict("no_commit", f"{source.cwd} has no commits yet. Make one first: a worktree needs a commit.")
        return StartFiles(shot.sha, shot.head)


def _folder_in(top: str, subfolder: str) -> str:
    """Returns the same subfolder of a new worktree; the whole if it does not exist there, or a link leads out of it."""
    folder = os.path.join(top, subfolder) if subfolder else top
    return folder if os.path.isdir(folder) and os.path.realpath(folder) == folder else top


async def clear_mark(change: Change, folder: BranchFolder) -> None:
    """Clears the mark in the transaction that opens the session."""
    if folder.mark is not None:
        await forget_answer(change.tx, folder.mark, MARKS)


def marked(key: str) -> Caller:
    """Returns the caller that owns a mark."""
    return Caller("system", None, key, door="server")


@contextlib.contextmanager
def held(worktrees: Worktrees, mark: Caller | None) -> Generator[None]:
    """Keeps the worktree with this mark from being removed while its session is created."""
    key = mark.idempotency_key if mark is not None else None
    if key is None:
        yield
        return
    worktrees.open_marks.add(key)
    try:
        yield
    finally:
        worktrees.open_marks.discard(key)


async def _left(tx: Tx, made: Worktree) -> Worktree | None:
    """Returns the worktree if it exists and no session ever worked in it."""
    row = await tx.one(WORKTREES.get, Worktree, id=made.id)
    if row is None or row.removed_at is not None:
        return None
    return None if await tx.all(WORKTREES.sessions, SessionUse, id=made.id, limit=1) else row


async def _is_changed(row: Worktree, made: Worktree) -> bool:
    """Tells whether somebody has changed a worktree since it was made: its name or card, its commit, or its files."""
    if any(getattr(row, name) != getattr(made, name) for name in ("name", "notes", "board_id", "x", "y")):
        return True
    try:
        status = await files(row.path)
        if status.sha != made.base_sha:
            return True
        return await asyncio.to_thread(
            _has_newer, Path(row.path), [*(name for name, _ in status.changed), *status.untracked]
        )
    except (BoughError, OSError):
        return False


def _has_newer(folder: Path, names: list[str]) -> bool:
    """Tells whether a file was changed after the worktree and its setup were done. Compares times of the file system
    only, because a clock may have been set since."""
    done = (folder / ".git").lstat().st_mtime + MAKING_TAKES
    for name in names:
        with contextlib.suppress(OSError):
            if (folder / name).lstat().st_mtime > done:
                return True
    return False


def _whose(caller: Caller, source: Session) -> tuple[str, str, str]:
    """Scopes a key to its caller and source session."""
    return f"{caller.kind}:{caller.own_id}", source.id, caller.idempotency_key or ""


def _suffix(caller: Caller, source: Session) -> str:
    """Returns a suffix that makes a name unique but stays the same for a repeated request."""
    if caller.idempotency_key is None:
        return new_id()[-8:]
    return hashlib.sha256("\0".join(_whose(caller, source)).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _slug(title: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return words[:LONGEST_SLUG].strip("-") or "branch"
