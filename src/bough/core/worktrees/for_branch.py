"""Where a branch works: with the session that it comes from, or in a worktree of its own that begins with exactly the
files of that moment, uncommitted and untracked ones included (B2). Making worktrees is `worktrees`."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
import structlog

from bough.core.checkpoints import take
from bough.core.checkpoints.take import Checkpoints
from bough.core.store.sql import REPOS, WORKTREES
from bough.core.store.transactions import Change, Store, forget_in
from bough.core.worktrees.records import NewWorktree, Start, Use
from bough.core.worktrees.service import REPAIR_WITHIN, Worktrees
from bough.errors import BoughError, Conflict, Invalid
from bough.git.snapshot import TooMuch
from bough.model.ids import new_id
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller, Session
from bough.storage.backend import Tx

T = TypeVar("T")

log = structlog.get_logger("bough.worktrees")

SCOPE = "sessions.branch.worktree"
# A worktree that nobody can ask for again, having no key, has one of ours until its session is there: a mark by which
# the next server finds it.
MARKS = "sessions.branch.mark"
# What of a title becomes part of a branch's name.
LONGEST_SLUG = 40


class Place(msgspec.Struct):
    """Where a branch works; `mark` says until then that nobody does yet."""

    worktree_id: str | None
    cwd: str
    mark: Caller | None = None


class Room(msgspec.Struct, frozen=True):
    """The worktree that is wanted for a branch: its git branch, named after `title` if it is not said, where, after
    which task, and whether what git ignores comes along."""

    title: str
    branch: str | None = None
    path: str | None = None
    task_id: str | None = None
    ignored: bool = False


class BranchPlaces:
    """Makes room for branches."""

    def __init__(self, store: Store, worktrees: Worktrees, files: Checkpoints) -> None:
        self._store = store
        self._worktrees = worktrees
        self._files = files
        self._turns: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()
        self._making: set[asyncio.Task[Any]] = set()

    async def through(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs what makes room and fills it to its end, also if nobody waits for it any more."""
        job = asyncio.create_task(work)
        self._making.add(job)
        job.add_done_callback(self._making.discard)
        return await asyncio.shield(job)

    async def close(self) -> None:
        """Waits for all that is being made."""
        if self._making:
            await asyncio.wait(self._making)

    @contextlib.asynccontextmanager
    async def turn(self, caller: Caller, source: Session) -> AsyncGenerator[None]:
        """One at a time with the same key: the next finds what came of it, and nothing is taken away under it."""
        if caller.idempotency_key is None:
            yield
            return
        lock = self._turns.setdefault(_whose(caller, source), asyncio.Lock())
        async with lock:
            yield

    @contextlib.asynccontextmanager
    async def made(
        self, caller: Caller, source: Session, room: Room, start: Start | None = None
    ) -> AsyncGenerator[Place]:
        """A worktree with the files that the session has now, had after a task, or those of `start`; taken away again
        if the branch comes to nothing. One that this key has made before is taken up as it is."""
        repo = await self._repo(source)
        start = start or await self._state(source, room)
        start = msgspec.structs.replace(start, asked=(room.branch, room.path, room.task_id, room.ignored))
        name = room.branch or f"{_slug(room.title)}-{_suffix(caller, source)}"
        mark = marked(new_id()) if caller.idempotency_key is None else None
        maker, scope = (caller, f"{SCOPE}:{source.id}") if mark is None else (mark, MARKS)
        worktree, new = await self._worktrees.begin(maker, NewWorktree(repo.id, name, room.path), scope, start)
        try:
            yield Place(worktree.id, worktree.path, mark)
        except BaseException:
            await asyncio.shield(self._worktrees.withdraw(maker, scope, worktree, new=new))
            raise

    @contextlib.asynccontextmanager
    async def together(
        self, caller: Caller, source: Session, titles: list[str]
    ) -> AsyncGenerator[tuple[Start, list[Place]]]:
        """A worktree for each title, made side by side, all with the files of one moment; all of them or none."""
        # One key would stand for several worktrees.
        caller = msgspec.structs.replace(caller, idempotency_key=None)
        await self._repo(source)
        start = await self._state(source, Room(""))
        async with contextlib.AsyncExitStack() as stack:
            making = [stack.enter_async_context(self.made(caller, source, Room(one), start)) for one in titles]
            places: list[Place] = []
            # All are waited for before any is taken away again.
            for one in await asyncio.gather(*making, return_exceptions=True):
                if isinstance(one, BaseException):
                    raise one
                places.append(one)
            yield start, places

    async def repair(self) -> None:
        """Takes away what the last server made for branches that it did not come to open. Somebody may have found it
        since, so that all that is in it is kept."""
        left = await self._store.all_kept(marked(""), MARKS, Worktree)
        await asyncio.gather(*(self._repair(marked(key), made) for key, made in left.items()))

    async def _repair(self, mark: Caller, made: Worktree) -> None:
        try:
            if await self._store.read(lambda tx: _left(tx, made)):
                # What takes longer goes on behind the start.
                async with asyncio.timeout(REPAIR_WITHIN):
                    await self._worktrees.remove(made.id, force=True, branch="delete" if made.branch_made else "keep")
                log.info("worktree_repaired", worktree=made.id, path=made.path, was="without a session")
            await self._store.forget_answer(mark, MARKS)
        except (BoughError, OSError, TimeoutError) as error:
            log.warning("worktree_not_repaired", worktree=made.id, path=made.path, error=str(error))

    async def _repo(self, source: Session) -> Repo:
        repo = await self._store.read(lambda tx: tx.one(REPOS.get, Repo, id=source.repo_id))
        assert repo is not None
        if repo.kind != "git":
            raise Invalid("not_a_repository", f"{repo.path} is no git repository: a worktree cannot be made of it.")
        return repo

    async def _state(self, source: Session, room: Room) -> Start:
        if (task_id := room.task_id) is not None:
            moment = await self._store.read(lambda tx: take.moments(tx, task_id))
            kept = moment.after
            if kept is None or kept.sha is None or kept.head is None:
                why = kept.note if kept is not None and kept.note else "none was taken"
                raise Conflict("no_checkpoint", f"The files after task {task_id} are not kept: {why}.")
            return Start(kept.sha, kept.head)
        try:
            shot = await self._files.snapshot(source.cwd, ignored=room.ignored)
        except TooMuch as error:
            told = f"The files at {source.cwd} cannot be copied: {error}"
            if room.ignored:
                told += (
                    " Ignored ones were counted: leave out `ignored`, or have some copied by the repository's setup."
                )
            raise Conflict("no_checkpoint", told) from error
        if shot.head is None:
            raise Conflict("no_commit", f"{source.cwd} has no commit yet, which a worktree needs. Make one first.")
        return Start(shot.sha, shot.head)


async def filled(change: Change, place: Place) -> None:
    """A session works in a place, in the transaction that opens it."""
    if place.mark is not None:
        await forget_in(change, place.mark, MARKS)


def marked(key: str) -> Caller:
    """Whose the mark of a worktree is."""
    return Caller("system", None, key)


async def _left(tx: Tx, made: Worktree) -> bool:
    """Whether a worktree is there and nobody has ever worked in it."""
    row = await tx.one(WORKTREES.get, Worktree, id=made.id)
    if row is None or row.removed_at is not None:
        return False
    return not await tx.all(WORKTREES.sessions, Use, id=made.id, limit=1)


def _whose(caller: Caller, source: Session) -> tuple[str, str, str]:
    """Keys are their callers' own, and about one session."""
    return f"{caller.kind}:{caller.id or ''}", source.id, caller.idempotency_key or ""


def _suffix(caller: Caller, source: Session) -> str:
    """What makes a name one of its own; the same when the same is asked for again."""
    if caller.idempotency_key is None:
        return new_id()[-8:]
    return hashlib.sha256("\0".join(_whose(caller, source)).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _slug(title: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return words[:LONGEST_SLUG].strip("-") or "branch"
