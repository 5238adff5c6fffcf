"""Starts races: one prompt is given to several branches of a session, each in its own worktree with the same files
(B6)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

import msgspec
import structlog

from bough.core.checkpoints.rows import FolderState, of_race, record
from bough.core.state.enqueue import checked_prompt
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.session_secrets import redactor_of
from bough.core.store.sql import CHECKPOINTS, RACES, SESSIONS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.trees.branch import Branched, Branches
from bough.core.trees.race.rules import LONGEST_NAME, race_name
from bough.core.trees.requests import NewBranch
from bough.core.trees.tree_limits import BranchKind
from bough.core.worktrees.for_branch import BranchFolder, BranchWorktrees
from bough.core.worktrees.records import StartFiles
from bough.errors import BoughError, Unavailable
from bough.git.refs import checkpoint_refs as refs
from bough.git.working_copy.folder_state import state as git_state
from bough.model.message import raw
from bough.model.repo import GitState
from bough.model.session import CallbackConfig, Caller, PermissionMode, RacePosition, Session
from bough.model.trees.race import RaceRow
from bough.model.values.ids import new_id
from bough.settings import Settings

log = structlog.get_logger("bough.races")

SCOPE = "sessions.race"
REFS = "refs/bough/races"
FEWEST, MOST = 2, 8


class NewRacer(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A racer to start; omitted fields are the session's."""

    preset: str | None = None
    agent: str | None = None
    model: str | None = None
    effort: str | None = None
    permission_mode: PermissionMode | None = None
    title: str | None = None


class NewRace(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A race to start. Forks know the conversation so far; spawned racers start with no context, and report to the
    session only if `callback` enables it."""

    prompt: str
    contenders: Annotated[list[NewRacer], msgspec.Meta(min_length=FEWEST, max_length=MOST)]
    kind: Literal["fork", "spawn"] = "fork"
    title: str | None = None
    callback: CallbackConfig | None = None
    idempotency_key: str | None = None


class RaceStarted(msgspec.Struct, rename="camel"):
    """A race and its racers, in the order of the request."""

    race_id: str
    sessions: list[Branched]


class Races:
    """Starts races."""

    def __init__(self, store: Store, settings: Settings, branches: Branches, worktrees: BranchWorktrees) -> None:
        self._store = store
        self._settings = settings
        self._branches = branches
        self._worktrees = worktrees

    async def start(self, caller: Caller, session_id: str, new: NewRace) -> RaceStarted:
        """Creates all racers, or none; continues even if the caller stops waiting."""
        return await self._worktrees.through(self._start(caller, session_id, new))

    async def _start(self, caller: Caller, session_id: str, new: NewRace) -> RaceStarted:
        kind: BranchKind = "fork" if new.kind == "fork" else "subsession"
        prompt = checked_prompt(new.prompt, self._settings.max_prompt)
        source = await self._store.read(lambda tx: records.session(tx, session_id))
        scope, request = RecordScope(SCOPE, "sessions", source.id), msgspec.structs.replace(new, idempotency_key=None)
        earlier = await self._store.stored_answer(caller, scope, request, RaceStarted)
        if earlier is not None:
            return earlier
        # Titles, branches and folders are named after the prompt.
        shown = (await self._store.read(lambda tx: redactor_of(tx, source.id))).text(prompt)
        branches = [await self._branches.filled_in(branch) for branch in _racer_branches(new, shown)]
        await self._branches.admit(caller, source.id, branches, kind)
        race_id = new_id()
        names = [f"race {number} {new.title or shown[:LONGEST_NAME]}" for number in range(1, len(branches) + 1)]
        try:
            async with self._worktrees.create_all(caller, source, names) as (start, folders):
                git_states = await asyncio.gather(*(git_state(folder.cwd) for folder in folders))

                async def work(change: Change) -> RaceStarted:
                    planned = list(zip(branches, folders, git_states, strict=True))
                    return await self._write(change, caller, source.id, race_id, new, kind, prompt, start, planned)

                async with self._start_files_held(source, race_id, start):
                    begun = await self._store.write_once(caller, scope, request, RaceStarted, work)
                    if begun.race_id != race_id:
                        raise _StartedElsewhere(begun)
        except _StartedElsewhere as elsewhere:
            return elsewhere.begun
        log.info("race_started", race=race_id, session=source.id, contenders=len(begun.sessions))
        return begun

    @contextlib.asynccontextmanager
    async def _start_files_held(self, source: Session, race_id: str, start: StartFiles) -> AsyncGenerator[None]:
        """Holds the files that a race begins with in a checkpoint; drops it again if the race is not started."""
        ref = ref_name(race_id)
        checkpoint = of_race(source, race_id, ref, start.sha, start.head)
        # The row comes first, so that no ref is left that no row knows of.
        await self._store.write(lambda change: record(change, FolderState(None, checkpoint)))
        try:
            await refs.keep(source.cwd, {ref: start.sha})
            yield
        except BaseException as error:
            if isinstance(error, Unavailable) and await self._may_have_started(race_id):
                raise
            try:
                await refs.drop(source.cwd, [ref])
                await until_available(
                    lambda: self._store.write(lambda change: change.tx.run(CHECKPOINTS.drop, ids=[race_id])),
                    "a race that failed",
                    within=UNDO_WITHIN,
                )
            except (BoughError, OSError) as error:
                log.warning("race_ref_kept", race=race_id, error=str(error))
            raise

    async def _may_have_started(self, race_id: str) -> bool:
        """Tells whether a race was stored although the reply was lost, as far as the database can say."""
        read = self._store.read
        try:
            row = await until_available(
                lambda: read(lambda tx: tx.one(RACES.get, RaceRow, id=race_id)),
                "a race that failed",
                within=UNDO_WITHIN,
            )
        except Unavailable:
            return True
        return row is not None

    async def _write(
        self,
        change: Change,
        caller: Caller,
        source_id: str,
        race_id: str,
        new: NewRace,
        kind: BranchKind,
        prompt: str,
        start: StartFiles,
        planned: list[tuple[NewBranch, BranchFolder, GitState]],
    ) -> RaceStarted:
        """Inserts the race and its racers, and tells about it in the transcript of the session."""
        source = await records.session(change.tx, source_id)
        racers = [
            await self._branches.plant(
                change, caller, source, branch, kind, folder, git, prompt, RacePosition(race_id, number)
            )
            for number, (branch, folder, git) in enumerate(planned, 1)
        ]
        await change.tx.run(
            RACES.add,
            id=race_id,
            session_id=source.id,
            kind=new.kind,
            prompt=prompt,
            cwd=source.cwd,
            start_sha=start.sha,
            head_sha=start.head,
            now=change.now,
        )
        await _add_notice(change, source, race_id, new.kind, prompt, start, racers)
        return RaceStarted(race_id, racers)


class _StartedElsewhere(Exception):
    """Another request with the same idempotency key has started this race meanwhile."""

    def __init__(self, begun: RaceStarted) -> None:
        self.begun = begun


def _racer_branches(new: NewRace, shown: str) -> list[NewBranch]:
    callback = new.callback or CallbackConfig(enabled=False)
    return [
        NewBranch(
            prompt=new.prompt,
            title=racer.title if racer.title is not None else f"{new.title or race_name(shown)} ({number})",
            preset=racer.preset,
            agent=racer.agent,
            model=racer.model,
            effort=racer.effort,
            permission_mode=racer.permission_mode,
            worktree="new",
            callback=callback if new.kind == "spawn" else None,
        )
        for number, racer in enumerate(new.contenders, 1)
    ]


def ref_name(race_id: str) -> str:
    """Returns the ref that holds the files that a race began with."""
    return f"{REFS}/{race_id}"


async def _add_notice(
    change: Change, source: Session, race_id: str, kind: str, prompt: str, start: StartFiles, racers: list[Branched]
) -> None:
    """Adds a notice with the race's id, which clients show as a link or a command."""
    shown = (await change.redactor(source.id)).text(prompt)
    text = f"Started a race of {len(racers)} ({race_id}): {race_name(shown)}"
    race = {"kind": kind, "start": start.sha, "head": start.head, "cwd": source.cwd, "sessions": racers}
    content: dict[str, Any] = {"type": "notice", "text": text, "race": race}
    after: Any = await change.tx.value(SESSIONS.take_positions, id=source.id, count=1)
    await records.insert_message(change, race_id, source.id, None, after - 1, "system", raw(content))
    await change.tx.run(SESSIONS.touch, id=source.id, added=1, now=change.now)
