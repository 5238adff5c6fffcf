"""Races: one prompt to several branches of a session, each in a worktree of its own that begins with the same files
(B6). How they stand is `standings`, keeping one of them `keeping`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

import msgspec
import structlog

from bough.core.checkpoints.take import Taken, of_race, record
from bough.core.state.enqueue import checked_prompt
from bough.core.store import records
from bough.core.store.short_ids import find
from bough.core.store.sql import CHECKPOINTS, MESSAGES, SESSIONS
from bough.core.store.transactions import Change, Store
from bough.core.trees.branch import Branch, Branched, Branching
from bough.core.trees.limits import BranchKind
from bough.core.worktrees.for_branch import BranchPlaces, Place, Start
from bough.errors import BoughError, NotFound
from bough.git import checkpoint_refs as refs
from bough.git.inspect import state as git_state
from bough.model.checkpoint import Checkpoint
from bough.model.ids import new_id
from bough.model.message import Message, raw
from bough.model.repo import GitState
from bough.model.session import CallbackConfig, Caller, PermissionMode, Session
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.races")

SCOPE = "sessions.race"
REFS = "refs/bough/races"
FEWEST, MOST = 2, 8
# What of a prompt names a race in titles, notices and commits.
LONGEST_NAME = 60


class Contender(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One who runs; what is left out is the session's."""

    agent: str | None = None
    model: str | None = None
    effort: str | None = None
    permission_mode: PermissionMode | None = None
    title: str | None = None


class NewRace(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A race to begin. Forks know the conversation so far; spawns begin afresh and report only if `callback` says
    so."""

    prompt: str
    contenders: Annotated[list[Contender], msgspec.Meta(min_length=FEWEST, max_length=MOST)]
    kind: Literal["fork", "spawn"] = "fork"
    title: str | None = None
    callback: CallbackConfig | None = None
    idempotency_key: str | None = None


class RaceBegun(msgspec.Struct, rename="camel"):
    """A race and those who run in it, in the order in which they were named."""

    race_id: str
    sessions: list[Branched]


class RaceRecord(msgspec.Struct, rename="camel"):
    """What the transcript of the session keeps of its race: `start` holds the files that all began with, `cwd` is where
    they were."""

    kind: Literal["fork", "spawn"]
    start: str
    head: str
    cwd: str
    sessions: list[Branched]


class Races:
    """Begins races."""

    def __init__(self, store: Store, settings: Settings, branching: Branching, places: BranchPlaces) -> None:
        self._store = store
        self._settings = settings
        self._branching = branching
        self._places = places

    async def start(self, caller: Caller, session_id: str, new: NewRace) -> RaceBegun:
        """Makes all branches at once, or none; whoever stops waiting does not stop it half-way."""
        return await self._places.through(self._start(caller, session_id, new))

    async def _start(self, caller: Caller, session_id: str, new: NewRace) -> RaceBegun:
        kind: BranchKind = "fork" if new.kind == "fork" else "subsession"
        prompt = checked_prompt(new.prompt, self._settings.max_prompt)
        source = await self._store.read(lambda tx: records.session(tx, session_id))
        scope, request = f"{SCOPE}:{source.id}", msgspec.structs.replace(new, idempotency_key=None)
        kept = await self._store.kept(caller, scope, request, RaceBegun)
        if kept is not None:
            return kept
        branches = _branches(new)
        await self._branching.admit(caller, source.id, branches, kind)
        race_id = new_id()
        names = [f"race {number} {new.title or new.prompt[:LONGEST_NAME]}" for number in range(1, len(branches) + 1)]
        try:
            async with self._places.together(caller, source, names) as (start, places):
                states = await asyncio.gather(*(git_state(one.cwd) for one in places))

                async def work(change: Change) -> RaceBegun:
                    planted = list(zip(branches, places, states, strict=True))
                    return await self._write(change, caller, source.id, race_id, new, kind, prompt, start, planted)

                async with self._held(source, race_id, start):
                    begun = await self._store.write_once(caller, scope, request, RaceBegun, work)
                    if begun.race_id != race_id:
                        raise _Known(begun)
        except _Known as known:
            return known.begun
        log.info("race_begun", race=race_id, session=source.id, contenders=len(begun.sessions))
        return begun

    @contextlib.asynccontextmanager
    async def _held(self, source: Session, race_id: str, start: Start) -> AsyncGenerator[None]:
        """Holds the files that a race begins with, by a checkpoint; lets go of them if it comes to nothing."""
        ref = ref_name(race_id)
        kept = of_race(source, race_id, ref, start.sha, start.head)
        # The row first, so that no ref is left that nobody knows of.
        await self._store.write(lambda change: record(change, Taken(None, kept)))
        try:
            await refs.keep(source.cwd, {ref: start.sha})
            yield
        except BaseException:
            try:
                await refs.drop(source.cwd, [ref])
                await self._store.write(lambda change: change.tx.run(CHECKPOINTS.drop, ids=[race_id]))
            except (BoughError, OSError) as error:
                log.warning("race_ref_kept", race=race_id, error=str(error))
            raise

    async def _write(
        self,
        change: Change,
        caller: Caller,
        source_id: str,
        race_id: str,
        new: NewRace,
        kind: BranchKind,
        prompt: str,
        start: Start,
        planted: list[tuple[Branch, Place, GitState]],
    ) -> RaceBegun:
        source = await records.session(change.tx, source_id)
        sessions: list[Branched] = []
        for number, (branch, place, git) in enumerate(planted, 1):
            marks = {"race": {"id": race_id, "number": number}}
            sessions.append(
                await self._branching.plant(change, caller, source, branch, kind, place, git, prompt, marks)
            )
        record = RaceRecord(new.kind, start.sha, start.head, source.cwd, sessions)
        await _record(change, source, race_id, named(prompt), record)
        return RaceBegun(race_id, sessions)


class _Known(Exception):
    """Somebody else has begun this race, with the same key, in the meantime."""

    def __init__(self, begun: RaceBegun) -> None:
        self.begun = begun


def _branches(new: NewRace) -> list[Branch]:
    callback = new.callback or CallbackConfig(enabled=False)
    return [
        Branch(
            prompt=new.prompt,
            title=one.title if one.title is not None else f"{new.title or named(new.prompt)} ({number})",
            agent=one.agent,
            model=one.model,
            effort=one.effort,
            permission_mode=one.permission_mode,
            worktree="new",
            callback=callback if new.kind == "spawn" else None,
        )
        for number, one in enumerate(new.contenders, 1)
    ]


def named(prompt: str) -> str:
    """How a prompt begins, on one line."""
    line = " ".join(prompt[: 10 * LONGEST_NAME].split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"


def ref_name(race_id: str) -> str:
    """The ref that holds the files that a race began with."""
    return f"{REFS}/{race_id}"


async def _record(change: Change, source: Session, race_id: str, name: str, record: RaceRecord) -> None:
    """The race stands in the transcript of the session that it began at; its id is that of the message."""
    text = f"A race of {len(record.sessions)} was begun: {name} See how it goes with: bough race show {race_id}"
    content: dict[str, Any] = {"type": "notice", "text": text, "race": record}
    after: Any = await change.tx.value(SESSIONS.take_positions, id=source.id, count=1)
    await records.insert_message(change, race_id, source.id, None, after - 1, "system", raw(content))
    await change.tx.run(SESSIONS.touch, id=source.id, added=1, now=change.now)


async def found(tx: Tx, race_id: str) -> tuple[Message, RaceRecord]:
    """A race by its id, or a part of it."""
    try:
        message = await find(tx, "messages", race_id, MESSAGES.get, Message)
    except NotFound:
        raise _missing(race_id) from None
    kept = msgspec.json.decode(message.content).get("race")
    if kept is None:
        raise _missing(race_id)
    return message, msgspec.convert(kept, RaceRecord)


def _missing(race_id: str) -> NotFound:
    return NotFound("race_not_found", f"There is no race {race_id!r}.")


async def needed(tx: Tx, start: Checkpoint, deadline: str, made: str) -> bool:
    """Whether the files that a race began with are still compared with: until all who ran were removed for good, or
    until it is decided and was begun before `deadline`. One that is not there `made` later came to nothing."""
    try:
        message, record = await found(tx, start.id)
    except NotFound:
        return start.session_id is not None and start.created_at >= made
    left = await contenders(tx, record)
    decided = any("kept" in records.metadata(one).get("race", {}) for one in left)
    return bool(left) and not (decided and message.created_at < deadline)


async def contenders(tx: Tx, record: RaceRecord) -> list[Session]:
    """Those who run; whoever was purged is left out."""
    sessions = [await tx.one(SESSIONS.get, Session, id=one.session_id) for one in record.sessions]
    return [one for one in sessions if one is not None]
