"""Takes checkpoints: the files of a git folder before and after each task, and which tasks worked there at the same
time (W4)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import structlog

from bough.core.checkpoints.folders import Folders
from bough.core.checkpoints.rows import FolderState, TaskCheckpoints, fill, moments, unmade
from bough.core.store import records
from bough.core.store.paging import Page, read_page
from bough.core.store.session_secrets import shown_task
from bough.core.store.short_ids import find
from bough.core.store.sql import CHECKPOINTS
from bough.core.store.transactions import Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.errors import BoughError, Denied
from bough.git.refs import checkpoint_refs as refs
from bough.git.working_copy.folder_state import state as git_state
from bough.git.working_copy.snapshot import Snapshot, SnapshotLimits, SnapshotTooLarge, take
from bough.git.workspace import check_workspace
from bough.model.checkpoint import Checkpoint, Moment
from bough.model.repo import GitState
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.checkpoints")


# Scanning a huge working copy is not worth a longer wait before a prompt is sent.
GIT_PATIENCE = 2.0
TOO_SLOW = "No checkpoint: the folder is too large to scan within {patience:g} s."
# Git's messages about a folder without a working copy.
NO_FILES = ("not a git repository", "must be run in a work tree", "cannot use bare repository")


class TaskWithFiles(Task):
    """A task, its checkpoints, and tasks of other sessions that worked in its folder at the same time."""

    checkpoints: TaskCheckpoints
    overlaps: list[str]


class Checkpoints:
    """Takes checkpoints, one at a time per folder."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._limits = SnapshotLimits(settings.checkpoint_files, settings.checkpoint_bytes)
        self.folders = Folders()
        # The files that each running task started with.
        self._begun: dict[str, Checkpoint] = {}
        # What drops the files of tasks that never began, by task.
        self._abandoning: dict[str, asyncio.Task[None]] = {}

    # Called by the runner

    async def before(self, task: Task, session: Session) -> FolderState:
        """Takes the files before a task and writes their ref, so that git keeps them before the checkpoint is stored.
        Changes found at a later attempt are the task's own work."""
        # A claimed turn is visible in its row, and files are restored only while there is no such row.
        await self.folders.pass_gates(session.cwd)
        if task.sent_attempt:
            return FolderState()
        if (dropping := self._abandoning.get(task.id)) is not None:
            await asyncio.wait((dropping,))
        ref = refs.ref_name(session.id, task.id, "before")
        both = asyncio.gather(
            self._kept_ahead(session.cwd, ref), self._taken(task, session, "before"), return_exceptions=True
        )
        ahead, taken = await both
        if isinstance(taken, BaseException):
            raise taken
        checkpoint = taken.checkpoint
        if checkpoint is not None and checkpoint.sha is not None:
            if checkpoint.sha != ahead:
                await self._keep(checkpoint)
        elif ahead is not None:
            with contextlib.suppress(BoughError, OSError):
                await refs.drop(session.cwd, [ref])
        return taken

    async def _kept_ahead(self, cwd: str, ref: str) -> str | None:
        """Points a ref to the last snapshot of a folder while the folder is scanned. Mostly nothing has changed since,
        so the prompt waits only for the slower of the two. Returns the commit, or None if there is no ref."""
        with self.folders.use(cwd) as folder:
            last = folder.memory.snapshot
        if last is None or not self._settings.checkpoints:
            return None
        try:
            await self.check_folder(cwd)
            await refs.keep(cwd, {ref: last.sha})
        except (BoughError, OSError):
            # The snapshot may be gone, or the folder; the scan tells.
            return None
        return last.sha

    def begun(self, taken: FolderState) -> None:
        """Remembers the files that a task began with, now that they are stored with its prompt."""
        checkpoint = taken.checkpoint
        if checkpoint is not None and checkpoint.sha is not None and checkpoint.task_id is not None:
            self._begun[checkpoint.task_id] = checkpoint

    def abandon(self, task: Task, session: Session, taking: asyncio.Task[FolderState]) -> None:
        """Stops taking the files before a task that ended before its prompt was sent, and drops them. The end of the
        task waits for neither."""
        job = asyncio.create_task(self._abandon(task, session, taking), name=f"abandon {task.id}")
        self._abandoning[task.id] = job
        job.add_done_callback(lambda _done: self._abandoning.pop(task.id, None))

    async def _abandon(self, task: Task, session: Session, taking: asyncio.Task[FolderState]) -> None:
        taking.cancel()
        await asyncio.wait((taking,))
        if not taking.cancelled():
            taking.exception()
        # It may have written the ref before it was stopped.
        await self.discard(session.cwd, task.id, refs.ref_name(session.id, task.id, "before"))

    async def close(self) -> None:
        """Ends what goes on in the background."""
        jobs = list(self._abandoning.values())
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    async def discard(self, cwd: str, task_id: str, ref: str) -> None:
        """Drops the ref of files before a task that ended before its prompt was sent, unless they were stored all the
        same: the reply may have been lost."""
        read = self._store.read
        with contextlib.suppress(BoughError, OSError):
            stored = await until_available(
                lambda: read(lambda tx: moments(tx, task_id)), "a checkpoint", within=UNDO_WITHIN
            )
            if stored.before is None:
                await refs.drop(cwd, [ref])

    async def after(self, task: Task, session: Session) -> FolderState:
        """Takes the files at the end of a task, or only the git state if its prompt was never sent."""
        begun = self._begun.pop(task.id, None)
        if begun is None:
            read = self._store.read
            begun = (await until_available(lambda: read(lambda tx: moments(tx, task.id)), "a checkpoint")).before
        if begun is None:
            return FolderState(await state(session.cwd))
        taken = await self._taken(task, session, "after")
        checkpoint = taken.checkpoint
        if checkpoint is not None and checkpoint.sha is not None:
            if begun.sha == checkpoint.sha:
                checkpoint.ref = begun.ref
            else:
                await self._keep(checkpoint)
        return taken

    # Called by restore

    @asynccontextmanager
    async def gate(self, cwd: str) -> AsyncGenerator[None]:
        """Keeps turns from starting in a folder while its files are restored."""
        with self.folders.use(cwd) as folder:
            async with folder.gate:
                yield

    @asynccontextmanager
    async def alone(self, cwd: str) -> AsyncGenerator[None]:
        """Gives exclusive access while a folder is scanned or written."""
        with self.folders.use(cwd) as folder:
            async with folder.lock:
                yield

    async def check_folder(self, cwd: str) -> None:
        """Raises `Denied` if a folder leads outside the workspace by now (W3)."""
        await asyncio.to_thread(check_workspace, self._settings.root_path, self._settings.data_path, cwd)

    async def snapshot(self, cwd: str, *, ignored: bool = False) -> Snapshot:
        """Takes the current files without a ref, including ignored ones on request."""
        async with self.alone(cwd):
            if ignored:
                return await take(cwd, ignored=True, limits=self._limits)
            return await self._look(cwd)

    # Reading

    async def get(self, checkpoint_id: str) -> Checkpoint:
        return await self._store.read(lambda tx: find(tx, "checkpoints", checkpoint_id, CHECKPOINTS.get, Checkpoint))

    async def list(self, session_id: str | None, task_id: str | None, limit: int, offset: int) -> Page[Checkpoint]:
        """Lists checkpoints, newest first: all, or those of a session or task."""

        async def work(tx: Tx) -> Page[Checkpoint]:
            params: dict[str, str] = {}
            if session_id is not None:
                params["session_id"] = (await records.session(tx, session_id)).id
            if task_id is not None:
                params["task_id"] = (await records.task(tx, task_id)).id
            where = " AND ".join(f"{name} = :{name}" for name in params) or "true"
            page, count = CHECKPOINTS.newest.with_(where=where), CHECKPOINTS.count.with_(where=where)
            return await read_page(tx, page, count, Checkpoint, limit, offset, **params)

        return await self._store.read(work)

    async def with_files(self, task_id: str) -> TaskWithFiles:
        """Returns a task with what is known about its files."""

        async def work(tx: Tx) -> TaskWithFiles:
            task = await shown_task(tx, await records.task(tx, task_id))
            others = await tx.all(CHECKPOINTS.overlaps, Task, task_id=task.id)
            rows = await moments(tx, task.id)
            return TaskWithFiles(**msgspec.structs.asdict(task), checkpoints=rows, overlaps=[row.id for row in others])

        return await self._store.read(work)

    # Taking

    async def _taken(self, task: Task, session: Session, moment: Moment) -> FolderState:
        cwd = session.cwd
        patience = self._settings.checkpoint_patience
        try:
            await self.check_folder(cwd)
        except Denied:
            # The folder was replaced during the turn. The next prompt, restore or removal says so.
            return FolderState(None)
        if not self._settings.checkpoints:
            return FolderState(await state(cwd))
        checkpoint = unmade(session, task.id, moment)
        checkpoint.note = TOO_SLOW.format(patience=patience)
        if self.folders.is_slow(cwd):
            return FolderState(await state(cwd), checkpoint)
        try:
            # Waiting behind others says nothing about the folder, but their result does.
            async with self.alone(cwd):
                if self.folders.is_slow(cwd):
                    return FolderState(None, checkpoint)
                async with asyncio.timeout(patience):
                    shot = await self._look(cwd)
        except TimeoutError:
            log.warning("checkpoint_too_slow", cwd=cwd, task=task.id, patience=patience)
            self.folders.mark_slow(cwd)
            return FolderState(None, checkpoint)
        except SnapshotTooLarge as error:
            checkpoint.note = f"No checkpoint: {error}"
        except (BoughError, OSError) as error:
            reason = error.message if isinstance(error, BoughError) else str(error)
            if any(words in reason for words in NO_FILES):
                return FolderState(GitState())
            log.warning("checkpoint_failed", cwd=cwd, task=task.id, error=reason)
            checkpoint.note = f"No checkpoint: {reason}"
        else:
            fill(checkpoint, shot)
            return FolderState(GitState(shot.branch, shot.head, shot.dirty), checkpoint)
        return FolderState(await state(cwd), checkpoint)

    async def _look(self, cwd: str) -> Snapshot:
        with self.folders.use(cwd) as folder:
            return await take(cwd, limits=self._limits, memory=folder.memory)

    async def _keep(self, checkpoint: Checkpoint) -> None:
        assert checkpoint.ref is not None and checkpoint.sha is not None
        try:
            await refs.keep(checkpoint.cwd, {checkpoint.ref: checkpoint.sha})
        except (BoughError, OSError) as error:
            log.warning("checkpoint_ref_not_written", ref=checkpoint.ref, error=str(error))
            # Without a ref, git would delete the files some day.
            reason = error.message if isinstance(error, BoughError) else str(error)
            checkpoint.sha = checkpoint.tree = checkpoint.ref = None
            checkpoint.note = f"No checkpoint: {reason}"


async def state(cwd: str) -> GitState | None:
    """Returns the git state of a working copy, or None if it takes too long."""
    try:
        async with asyncio.timeout(GIT_PATIENCE):
            return await git_state(cwd)
    except (TimeoutError, BoughError):
        return None
