"""Reports the status of races: what each racer has done, used and changed since the common start (B6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

import msgspec

from bough.core.checkpoints.take import Checkpoints
from bough.core.store import records
from bough.core.store.paging import Page
from bough.core.store.session_secrets import redactors_of
from bough.core.store.short_ids import whole_id
from bough.core.store.sql import RACES, REPOS, WORKTREES
from bough.core.store.transactions import Store
from bough.core.trees.race.records import StartOfWork, find_race, racer_task, racers, start_of_work
from bough.core.trees.race.rules import check_racer, cut_diff
from bough.core.trees.race.setup_changes import WITH_SETUP, has_setup, preparation
from bough.errors import BoughError, Conflict
from bough.git.commit_diff import compare
from bough.git.finish.own_changes import own_changes
from bough.git.working_copy.diff import LARGEST_TEXT, Diff
from bough.git.working_copy.restore import checked_path
from bough.git.working_copy.snapshot import SnapshotTooLarge
from bough.git.worktrees import resolve
from bough.model.repo import Repo, Worktree
from bough.model.session import Activity, Session, Status
from bough.model.task import Task, TaskStatus
from bough.model.trees.race import RaceRow
from bough.storage.backend import Tx


class RacerStatus(msgspec.Struct, rename="camel"):
    """The status of one racer: its session, its task of the race, what it has used and changed. Counts of changes are
    null, with a `note`, if they are unknown; `diff` is set if the full status was requested."""

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
    """A race: the session and folder where it began, its prompt, the commit with the files of the start, and the
    status of each racer."""

    race_id: str
    session_id: str
    kind: Literal["fork", "spawn"]
    prompt: str
    cwd: str
    start: str
    created_at: str
    kept_session_id: str | None
    contenders: list[RacerStatus]


class RaceBrief(msgspec.Struct, rename="camel"):
    """A race in short: its prompt, its racers, in the order of the request, and the one that was kept."""

    race_id: str
    session_id: str | None
    prompt: str
    created_at: str
    session_ids: list[str]
    kept_session_id: str | None


class _Racer(msgspec.Struct):
    """The rows of one racer."""

    number: int
    session: Session
    task: Task | None
    worktree: Worktree | None
    repo: Repo
    start: StartOfWork


class RaceStatuses:
    """Compares the racers of a race."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints

    async def get(self, race_id: str, *, full: bool = False) -> Race:
        """Returns a race with the status of all racers; `full` adds their diffs, within one limit for all of them."""
        race, all_racers = await self._store.read(lambda tx: _read(tx, race_id))
        limit = LARGEST_TEXT // max(len(all_racers), 1) if full else 0
        standings = await asyncio.gather(*(self._standing(race, racer, limit) for racer in all_racers))
        return Race(
            race_id=race.id,
            session_id=race.session_id,
            kind=race.kind,
            prompt=race.prompt,
            cwd=race.cwd,
            start=race.start_sha,
            created_at=race.created_at,
            kept_session_id=race.kept_session_id,
            contenders=standings,
        )

    async def list_all(self, limit: int, offset: int) -> Page[RaceBrief]:
        """Lists the races of all trees, newest first."""

        async def work(tx: Tx) -> Page[RaceBrief]:
            races = await tx.all(RACES.page, RaceRow, limit=limit, offset=offset)
            race_ids = tuple(race.id for race in races)
            pairs = await tx.all(RACES.racers_of, tuple[str, str], race_ids=race_ids) if race_ids else []
            briefs = await _masked(tx, _briefs(races, pairs))
            return Page(briefs, await tx.value(RACES.count) or 0, limit, offset)

        return await self._store.read(work)

    async def list(self, session_id: str, limit: int, offset: int) -> Page[RaceBrief]:
        """Lists the races of the tree that a session belongs to, newest first."""

        async def work(tx: Tx) -> Page[RaceBrief]:
            briefs = await _of_tree(tx, session_id)
            return Page(await _masked(tx, briefs[offset : offset + limit]), len(briefs), limit, offset)

        return await self._store.read(work)

    async def diff(self, race_id: str, session_id: str, only: str | None = None) -> Diff:
        """Returns what one racer has changed since the race began."""
        race, all_racers = await self._store.read(lambda tx: _read(tx, race_id))
        chosen = await self._store.read(lambda tx: whole_id(tx, "sessions", session_id))
        by_id = {racer.session.id: racer for racer in all_racers}
        check_racer(session_id, chosen, list(by_id))
        path = checked_path(only) if only is not None else None
        return await self._diff(race, by_id[chosen], path or None, text=True)

    async def _standing(self, race: RaceRow, racer: _Racer, limit: int) -> RacerStatus:
        session, task, worktree = racer.session, racer.task, racer.worktree
        diff, note = None, None
        try:
            diff = await self._diff(race, racer, None, text=limit > 0)
            note = diff.note
        except BoughError as error:
            note = error.message
        return RacerStatus(
            number=racer.number,
            session_id=session.id,
            task_id=task.id if task else None,
            title=session.title,
            agent=session.agent,
            model=session.model,
            status=session.status,
            activity=session.activity,
            archived=session.archived,
            task_status=task.status if task else None,
            kept=session.id == race.kept_session_id,
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
            diff=cut_diff(diff, limit) if diff and limit else None,
        )

    async def _diff(self, race: RaceRow, racer: _Racer, only: str | None, *, text: bool) -> Diff:
        """Compares a racer's files with the start; of a removed worktree, the files that were kept on a ref."""
        worktree = racer.worktree
        if worktree is not None and (worktree.removed_at is not None or _is_going(worktree)):
            folder = racer.repo.path
            ref = worktree.recovery_sha or worktree.recovery_ref or f"refs/heads/{worktree.branch}"
            current = await resolve(folder, ref)
            if current is None:
                raise Conflict("no_checkpoint", f"Worktree {worktree.name} was removed, and its files were not kept.")
        else:
            folder = racer.session.cwd
            try:
                current = (await self._checkpoints.snapshot(folder)).sha
            except SnapshotTooLarge as error:
                raise Conflict("no_checkpoint", f"The current files cannot be compared: {error}") from error
        made = await preparation(folder, race, racer.start.files)
        if made is not None:
            own = await own_changes(folder, made, current)
        elif not racer.start.sent and racer.task is not None and racer.task.ended_at is None:
            # It has only been set up so far.
            own = race.start_sha
        else:
            own = current
        diff = await compare(folder, race.start_sha, own, only=only, text=text)
        if made is None and own == current and has_setup(racer.repo):
            diff.note = " ".join(filter(None, (diff.note, WITH_SETUP)))
        return diff


def _is_going(worktree: Worktree) -> bool:
    """Tells whether a worktree is being removed and its files are already on the recovery ref."""
    return worktree.status == "removing" and worktree.recovery_ref is not None


async def _of_tree(tx: Tx, session_id: str) -> list[RaceBrief]:
    root = (await records.session(tx, session_id)).root_session_id
    pairs = await tx.all(RACES.racers_of_tree, tuple[str, str], root=root)
    return _briefs(await tx.all(RACES.of_tree, RaceRow, root=root), pairs)


def _briefs(races: Sequence[RaceRow], pairs: Sequence[tuple[str, str]]) -> list[RaceBrief]:
    """Joins races with the pairs of a race and one of its racers; leaves out races whose racers are all purged."""
    session_ids: dict[str, list[str]] = {}
    for race_id, racer_id in pairs:
        session_ids.setdefault(race_id, []).append(racer_id)
    return [
        RaceBrief(race.id, race.session_id, race.prompt, race.created_at, session_ids[race.id], race.kept_session_id)
        for race in races
        if race.id in session_ids
    ]


async def _masked(tx: Tx, briefs: list[RaceBrief]) -> list[RaceBrief]:
    """Masks the secret values of each race's sessions in its prompt."""
    sessions = {brief.race_id: [*brief.session_ids, *filter(None, [brief.session_id])] for brief in briefs}
    redactors = await redactors_of(tx, list({session_id for ids in sessions.values() for session_id in ids}))
    for brief in briefs:
        for session_id in sessions[brief.race_id]:
            brief.prompt = redactors[session_id].text(brief.prompt)
    return briefs


async def _read(tx: Tx, race_id: str) -> tuple[RaceRow, list[_Racer]]:
    race = await find_race(tx, race_id)
    sessions = await racers(tx, race.id)
    redactors = await redactors_of(tx, [race.session_id, *(session.id for session in sessions)])
    for redactor in redactors.values():
        race.prompt = redactor.text(race.prompt)
    return race, [await _racer(tx, session) for session in sessions]


async def _racer(tx: Tx, session: Session) -> _Racer:
    assert session.metadata.race is not None
    task = await racer_task(tx, session.id)
    worktree = await tx.one(WORKTREES.get, Worktree, id=session.worktree_id) if session.worktree_id else None
    repo = await tx.one(REPOS.get, Repo, id=session.repo_id)
    assert repo is not None
    start = await start_of_work(tx, session.id)
    return _Racer(session.metadata.race.race_number, session, task, worktree, repo, start)
