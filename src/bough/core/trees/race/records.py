"""Reads the rows of a race inside a transaction."""

from __future__ import annotations

import msgspec

from bough.core.checkpoints.rows import moments
from bough.core.store.short_ids import find
from bough.core.store.sql import RACES
from bough.core.trees.race.rules import is_start_needed
from bough.model.checkpoint import Checkpoint
from bough.model.session import Session
from bough.model.task import Task
from bough.model.trees.race import RaceRow
from bough.storage.backend import Tx


async def find_race(tx: Tx, race_id: str) -> RaceRow:
    """Returns a race by its id or a unique part of it; raises `NotFound`."""
    return await find(tx, "races", race_id, RACES.get, RaceRow)


async def racers(tx: Tx, race_id: str) -> list[Session]:
    """Returns the sessions that run in a race, in the order of the request; purged ones are missing."""
    return await tx.all(RACES.racers, Session, race_id=race_id)


async def racer_task(tx: Tx, session_id: str) -> Task | None:
    """Returns the task of the race's prompt in a racer's session."""
    return await tx.one(RACES.first_task, Task, session_id=session_id)


class StartOfWork(msgspec.Struct, frozen=True):
    """Tells whether a racer was ever sent a prompt, and the files that it had then; None without a checkpoint."""

    sent: bool
    files: Checkpoint | None = None


async def start_of_work(tx: Tx, session_id: str) -> StartOfWork:
    """Returns what a racer had before its first turn, when its worktree was set up."""
    first = await tx.one(RACES.first_turn, Task, session_id=session_id)
    if first is None:
        return StartOfWork(sent=False)
    return StartOfWork(sent=True, files=(await moments(tx, first.id)).before)


async def is_checkpoint_needed(tx: Tx, start: Checkpoint, deadline: str, started_since: str) -> bool:
    """Tells whether the checkpoint that holds the files at the start of a race must stay.

    A checkpoint without a race belongs to one that is being started, if it was taken after `started_since`; an older
    one belongs to a race that was never started.
    """
    race = await tx.one(RACES.get, RaceRow, id=start.id)
    if race is None:
        return start.session_id is not None and start.created_at >= started_since
    return is_start_needed(race, len(await racers(tx, race.id)), deadline)
