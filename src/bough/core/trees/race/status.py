"""How a race stands: what each contender has done, used and changed since the moment at which all began (B6). Beginning
a race is `race`, ending it `keeping`."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec

from bough.core.checkpoints.take import Checkpoints
from bough.core.store import records
from bough.core.store.paging import Page
from bough.core.store.short_ids import whole_id
from bough.core.store.sql import REPOS, SESSIONS, TASKS, WORKTREES
from bough.core.store.transactions import Store
from bough.core.trees.branch import Branched
from bough.core.trees.race import start as races
from bough.core.trees.race.start import RaceRecord
from bough.errors import BoughError, Conflict, Invalid
from bough.git.commit_diff import compare
from bough.git.restore import checked_path
from bough.git.snapshot import TooMuch
from bough.git.working_copy_diff import LARGEST_TEXT, Diff
from bough.git.worktrees import resolve
from bough.model.message import Message
from bough.model.repo import Repo, Worktree
from bough.model.session import Activity, Session, Status
from bough.model.task import Task, TaskStatus
from bough.storage.backend import Tx


class Standing(msgspec.Struct, rename="camel"):
    """One contender: its session, the task of the race, what it has used, and what it has changed (null with a `note`
    if that cannot be told). `diff` is given if all of it was asked for."""

    number: int
    session_id: str
    task_id: str | None
    title: str
    agent: str
    model: str | None
    status: Status
    activity: Activity
    archived: bool
    task_status: TaskStatus | None
    kept: bool
    turns: int
    tokens: int
    cost: float
    seconds: float
    worktree_id: str | None
    branch: str | None
    cwd: str
    files: int | None
    insertions: int | None
    deletions: int | None
    note: str | None
    diff: Diff | None


class Race(msgspec.Struct, rename="camel"):
    """A race: the session that it began at, and where; the prompt; the commit with the files that all began with."""

    race_id: str
    session_id: str
    kind: Literal["fork", "spawn"]
    prompt: str
    cwd: str
    start: str
    created_at: str
    kept_session_id: str | None
    contenders: list[Standing]


class RaceBrief(msgspec.Struct, rename="camel"):
    """A race of a tree in short: who runs, in the order in which they were named, and who was kept."""

    race_id: str
    session_id: str | None
    created_at: str
    session_ids: list[str]
    kept_session_id: str | None


class _Runner(msgspec.Struct):
    """The rows of one contender."""

    number: int
    session: Session
    task: Task | None
    worktree: Worktree | None
    repo: Repo


class Standings:
    """Compares contenders."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints

    async def get(self, race_id: str, *, full: bool = False) -> Race:
        """How all of them stand; with `full` what each has changed too, in bounds for all of it together."""
        message, record, runners = await self._store.read(lambda tx: _read(tx, race_id))
        most = LARGEST_TEXT // max(len(runners), 1) if full else 0
        standings = await asyncio.gather(*(self._standing(record, one, most) for one in runners))
        return Race(
            race_id=message.id,
            session_id=message.session_id,
            kind=record.kind,
            prompt=next((one.task.prompt for one in runners if one.task is not None), ""),
            cwd=record.cwd,
            start=record.start,
            created_at=message.created_at,
            kept_session_id=next((one.session_id for one in standings if one.kept), None),
            contenders=standings,
        )

    async def list(self, session_id: str, limit: int, offset: int) -> Page[RaceBrief]:
        """The races of the tree that a session belongs to, newest first."""
        found = await self._store.read(lambda tx: _of_tree(tx, session_id))
        return Page(found[offset : offset + limit], len(found), limit, offset)

    async def diff(self, race_id: str, session_id: str, only: str | None = None) -> Diff:
        """What one contender has changed since the race began."""
        _, record, runners = await self._store.read(lambda tx: _read(tx, race_id))
        whole = await self._store.read(lambda tx: whole_id(tx, "sessions", session_id))
        runner = next((one for one in runners if one.session.id == whole), None)
        if runner is None:
            raise stranger(session_id, record)
        path = checked_path(only) if only is not None else None
        return await self._diff(record, runner, path or None, text=True)

    async def _standing(self, record: RaceRecord, runner: _Runner, most: int) -> Standing:
        session, task, worktree = runner.session, runner.task, runner.worktree
        diff, note = None, None
        try:
            diff = await self._diff(record, runner, None, text=most > 0)
            note = diff.note
        except BoughError as error:
            note = error.message
        return Standing(
            number=runner.number,
            session_id=session.id,
            task_id=task.id if task else None,
            title=session.title,
            agent=session.agent,
            model=session.model,
            status=session.status,
            activity=session.activity,
            archived=session.archived,
            task_status=task.status if task else None,
            kept=was_kept(session),
            turns=session.turns,
            tokens=session.tokens,
            cost=session.spent,
            seconds=session.seconds,
            worktree_id=session.worktree_id,
            branch=worktree.branch if worktree else None,
            cwd=session.cwd,
            files=len(diff.files) if diff else None,
            insertions=diff.additions if diff else None,
            deletions=diff.deletions if diff else None,
            note=note,
            diff=_cut(diff, most) if diff and most else None,
        )

    async def _diff(self, record: RaceRecord, runner: _Runner, only: str | None, *, text: bool) -> Diff:
        worktree = runner.worktree
        if worktree is not None and worktree.removed_at is not None:
            folder, name = runner.repo.path, worktree.recovery_ref or f"refs/heads/{worktree.branch}"
            new = await resolve(folder, name)
            if new is None:
                raise Conflict("no_checkpoint", f"Worktree {worktree.name} was removed, and nothing of it is kept.")
        else:
            folder = runner.session.cwd
            try:
                new = (await self._checkpoints.snapshot(folder)).sha
            except TooMuch as error:
                raise Conflict("no_checkpoint", f"The files as they are now cannot be compared: {error}") from error
        return await compare(folder, record.start, new, only=only, text=text)


def was_kept(session: Session) -> bool:
    return "kept" in records.metadata(session).get("race", {})


def stranger(session_id: str, record: RaceRecord) -> Invalid:
    """What to say of a session that does not run in a race."""
    known = [one.session_id for one in record.sessions]
    return Invalid(
        "not_a_contender", f"Session {session_id} does not run in this race; {', '.join(known)} do.", sessions=known
    )


def _cut(diff: Diff, most: int) -> Diff:
    if len(diff.text) <= most:
        return diff
    text = diff.text[: diff.text.rfind("\n", 0, most) + 1]
    note = f"The text is cut after {most} characters; ask for the diff of this session alone."
    return msgspec.structs.replace(diff, text=text, truncated=True, note=note)


async def _of_tree(tx: Tx, session_id: str) -> list[RaceBrief]:
    root = (await records.session(tx, session_id)).root_session_id
    runners: dict[str, list[Session]] = {}
    for one in await tx.all(SESSIONS.racing, Session, root=root):
        runners.setdefault(records.metadata(one)["race"]["id"], []).append(one)
    found = [
        RaceBrief(
            race_id=race_id,
            session_id=sessions[0].forked_from_session_id or sessions[0].parent_session_id,
            created_at=sessions[0].created_at,
            session_ids=[one.id for one in sessions],
            kept_session_id=next((one.id for one in sessions if was_kept(one)), None),
        )
        for race_id, sessions in runners.items()
    ]
    return sorted(found, key=lambda one: (one.created_at, one.race_id), reverse=True)


async def _read(tx: Tx, race_id: str) -> tuple[Message, RaceRecord, list[_Runner]]:
    message, record = await races.found(tx, race_id)
    runners = [await _runner(tx, number, one) for number, one in enumerate(record.sessions, 1)]
    return message, record, [one for one in runners if one is not None]


async def _runner(tx: Tx, number: int, one: Branched) -> _Runner | None:
    session = await tx.one(SESSIONS.get, Session, id=one.session_id)
    if session is None:
        return None
    task = await tx.one(TASKS.get, Task, id=one.task_id)
    worktree = await tx.one(WORKTREES.get, Worktree, id=session.worktree_id) if session.worktree_id else None
    repo = await tx.one(REPOS.get, Repo, id=session.repo_id)
    assert repo is not None
    return _Runner(number, session, task, worktree, repo)
