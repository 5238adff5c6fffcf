"""Checkpoints: the files of a git folder before and after each task, and which tasks were at work there together (W4).
Bringing files back is `restoring`, showing what changed `changes`, forgetting old ones `pruning`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import structlog

from bough.core.store import records
from bough.core.store.paging import Page
from bough.core.store.short_ids import find
from bough.core.store.sql import CHECKPOINTS
from bough.core.store.transactions import Change, Store
from bough.errors import BoughError
from bough.git import checkpoint_refs as refs
from bough.git.inspect import state as git_state
from bough.git.snapshot import Limits, Memory, Snapshot, TooMuch, take
from bough.model.checkpoint import Checkpoint, Moment
from bough.model.ids import new_id
from bough.model.repo import GitState
from bough.model.session import Session
from bough.model.task import IN_FLIGHT, Task
from bough.model.times import now
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.checkpoints")


# The state of a huge working copy is not worth more waiting than this before a prompt is sent.
GIT_PATIENCE = 2.0
# A folder that was too slow once is tried again after this many seconds: it may have been the machine.
TRY_AGAIN = 600.0
TOO_SLOW = "No checkpoint: the folder is too large to be looked through in {patience:g} s."
# What has files in its hands: a turn that was cut off goes on later.
AT_WORK = ("running", "waiting_permission", "stopping", "interrupted")
# What git says of a folder that has no files of its own to keep.
NO_FILES = ("not a git repository", "must be run in a work tree")


class Taken(msgspec.Struct):
    """Where a working copy stood, and its files; neither for a plain folder."""

    git: GitState | None = None
    checkpoint: Checkpoint | None = None


class Moments(msgspec.Struct, rename="camel"):
    """The files of a task before its first attempt and after its end."""

    before: Checkpoint | None = None
    after: Checkpoint | None = None


class TaskWithFiles(Task):
    """A task, its checkpoints, and the tasks of other sessions that were at work in its folder at the same time."""

    checkpoints: Moments
    overlaps: list[str]


class Checkpoints:
    """Takes checkpoints, one at a time in each folder."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._limits = Limits(settings.checkpoint_files, settings.checkpoint_bytes)
        self._memories: dict[str, Memory] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._gates: dict[str, asyncio.Lock] = {}
        self._slow: dict[str, float] = {}
        # What each task in flight began with, and the refs that are still being written.
        self._begun: dict[str, Checkpoint] = {}
        self._keeping: set[asyncio.Task[None]] = set()

    # For the runner

    async def before(self, task: Task, session: Session) -> Taken:
        """The files before a task; those of a later attempt are its own work."""
        # A claimed turn is visible in its row, and files are brought back only while no such row is there.
        async with self.gate(session.cwd):
            pass
        if task.sent_attempt:
            return Taken()
        return await self._taken(task, session, "before")

    def begun(self, taken: Taken) -> None:
        """The prompt is on its way and the checkpoint before it is written down: a ref is to hold it."""
        made = taken.checkpoint
        if made is not None and made.sha is not None and made.task_id is not None:
            self._begun[made.task_id] = made
            # The agent need not wait for it: git keeps what nothing refers to for two weeks.
            job = asyncio.create_task(self._keep(made))
            self._keeping.add(job)
            job.add_done_callback(self._keeping.discard)

    async def after(self, task: Task, session: Session) -> Taken:
        """The files at the end of a task; only where it stands for one that was never sent."""
        begun = self._begun.pop(task.id, None)
        if begun is None:
            begun = (await self._store.read(lambda tx: moments(tx, task.id))).before
        if begun is None:
            return Taken(await state(session.cwd))
        taken = await self._taken(task, session, "after")
        found = taken.checkpoint
        if found is not None and found.sha is not None:
            if begun.sha == found.sha:
                found.ref = begun.ref
            else:
                await self._keep(found)
        return taken

    async def close(self) -> None:
        """Waits for refs that are still being written."""
        if self._keeping:
            await asyncio.wait(self._keeping)

    # For whoever brings files back

    @asynccontextmanager
    async def gate(self, cwd: str) -> AsyncGenerator[None]:
        """Held while the files of a folder are brought back: no turn begins there meanwhile."""
        async with self._gates.setdefault(cwd, asyncio.Lock()):
            yield

    @asynccontextmanager
    async def alone(self, cwd: str) -> AsyncGenerator[None]:
        """Held while a folder is looked through or its files are written."""
        async with self._locks.setdefault(cwd, asyncio.Lock()):
            yield

    async def snapshot(self, cwd: str, *, ignored: bool = False) -> Snapshot:
        """The files as they are now, kept by nothing; those that git ignores too if they are wanted."""
        async with self.alone(cwd):
            if ignored:
                return await take(cwd, ignored=True, limits=self._limits)
            return await self._look(cwd)

    # Reading

    async def get(self, checkpoint_id: str) -> Checkpoint:
        return await self._store.read(lambda tx: find(tx, "checkpoints", checkpoint_id, CHECKPOINTS.get, Checkpoint))

    async def list(self, session_id: str | None, task_id: str | None, limit: int, offset: int) -> Page[Checkpoint]:
        """Checkpoints, newest first: all, or those of a session or a task."""

        async def work(tx: Tx) -> Page[Checkpoint]:
            params: dict[str, str] = {}
            if session_id is not None:
                params["session_id"] = (await records.session(tx, session_id)).id
            if task_id is not None:
                params["task_id"] = (await records.task(tx, task_id)).id
            where = " AND ".join(f"{name} = :{name}" for name in params) or "true"
            query = CHECKPOINTS.newest.with_(where=where)
            found = await tx.all(query, Checkpoint, limit=limit, offset=offset, **params)
            return Page(found, await tx.value(CHECKPOINTS.count.with_(where=where), **params) or 0, limit, offset)

        return await self._store.read(work)

    async def with_files(self, task_id: str) -> TaskWithFiles:
        """A task with what is known about its files."""

        async def work(tx: Tx) -> TaskWithFiles:
            task = await records.task(tx, task_id)
            others = await tx.all(CHECKPOINTS.overlaps, Task, task_id=task.id)
            found = await moments(tx, task.id)
            return TaskWithFiles(**msgspec.structs.asdict(task), checkpoints=found, overlaps=[one.id for one in others])

        return await self._store.read(work)

    # Taking

    async def _taken(self, task: Task, session: Session, moment: Moment) -> Taken:
        cwd = session.cwd
        patience = self._settings.checkpoint_patience
        if not self._settings.checkpoints:
            return Taken(await state(cwd))
        made = _unmade(session, task.id, moment)
        made.note = TOO_SLOW.format(patience=patience)
        if self._is_slow(cwd):
            return Taken(await state(cwd), made)
        try:
            # Waiting for others who look says nothing about the folder, but what they found does.
            async with self.alone(cwd):
                if self._is_slow(cwd):
                    return Taken(None, made)
                async with asyncio.timeout(patience):
                    shot = await self._look(cwd)
        except TimeoutError:
            log.warning("checkpoint_too_slow", cwd=cwd, task=task.id, patience=patience)
            self._slow[cwd] = time.monotonic() + TRY_AGAIN
            return Taken(None, made)
        except TooMuch as error:
            made.note = f"No checkpoint: {error}"
        except (BoughError, OSError) as error:
            told = error.message if isinstance(error, BoughError) else str(error)
            if any(words in told for words in NO_FILES):
                return Taken(GitState())
            log.warning("checkpoint_failed", cwd=cwd, task=task.id, error=told)
            made.note = f"No checkpoint: {told}"
        else:
            fill(made, shot)
            return Taken(GitState(shot.branch, shot.head, shot.dirty), made)
        return Taken(await state(cwd), made)

    def _is_slow(self, cwd: str) -> bool:
        return time.monotonic() < self._slow.get(cwd, 0.0)

    async def _look(self, cwd: str) -> Snapshot:
        return await take(cwd, limits=self._limits, memory=self._memories.setdefault(cwd, Memory()))

    async def _keep(self, made: Checkpoint) -> None:
        assert made.ref is not None and made.sha is not None
        try:
            await refs.keep(made.cwd, {made.ref: made.sha})
        except (BoughError, OSError) as error:
            log.warning("checkpoint_ref_not_written", ref=made.ref, error=str(error))


async def state(cwd: str) -> GitState | None:
    """Where a working copy stands, if that can be told in time."""
    try:
        async with asyncio.timeout(GIT_PATIENCE):
            return await git_state(cwd)
    except (TimeoutError, BoughError):
        return None


def _unmade(session: Session, task_id: str, moment: Moment) -> Checkpoint:
    """A checkpoint that holds nothing yet."""
    return Checkpoint(
        id=new_id(),
        repo_id=session.repo_id,
        worktree_id=session.worktree_id,
        session_id=session.id,
        task_id=task_id,
        cwd=session.cwd,
        moment=moment,
        sha=None,
        tree=None,
        head=None,
        branch=None,
        note=None,
        ref=None,
        created_at=now(),
    )


def fill(made: Checkpoint, shot: Snapshot) -> None:
    """Puts a snapshot into a checkpoint, and names its ref."""
    made.sha, made.tree, made.head, made.branch = shot.sha, shot.tree, shot.head, shot.branch
    made.note = shot.note
    # Files are brought back more than once; the other moments of a task come once.
    name = made.moment if made.moment in ("before", "after") else f"{made.moment}-{made.id}"
    made.ref = refs.ref_name(made.session_id or "none", made.task_id or "none", name)


def of_restore(session: Session, task_id: str | None, checkpoint_id: str, shot: Snapshot) -> Checkpoint:
    """The files as they are before others are brought back."""
    made = _unmade(session, task_id or "", "restore")
    made.id, made.task_id = checkpoint_id, task_id
    fill(made, shot)
    return made


def of_race(session: Session, race_id: str, ref: str, sha: str, head: str) -> Checkpoint:
    """The files that all contenders of a race begin with."""
    made = _unmade(session, "", "fork")
    made.id, made.task_id, made.ref, made.sha, made.head = race_id, None, ref, sha, head
    return made


# In a transaction


async def record(change: Change, taken: Taken) -> None:
    """Writes down a checkpoint."""
    if taken.checkpoint is not None:
        await change.tx.run(CHECKPOINTS.add, **msgspec.structs.asdict(taken.checkpoint))


async def meet(change: Change, task: Task, cwd: str) -> None:
    """Writes down which tasks of other sessions are at work in the same folder now."""
    others = await change.tx.all(CHECKPOINTS.at_work, Task, cwd=cwd, statuses=AT_WORK, but=task.session_id)
    for other in others:
        if other.sent_attempt:
            await change.tx.run(CHECKPOINTS.meet, task_id=task.id, other_task_id=other.id)


async def moments(tx: Tx, task_id: str) -> Moments:
    """The checkpoints before and after a task."""
    found = await tx.all(CHECKPOINTS.of_task, Checkpoint, task_id=task_id)
    by_moment = {one.moment: one for one in found}
    return Moments(by_moment.get("before"), by_moment.get("after"))


async def busy(tx: Tx, cwd: str) -> list[Task]:
    """Turns that run in a folder."""
    return await tx.all(CHECKPOINTS.at_work, Task, cwd=cwd, statuses=IN_FLIGHT, but="")
