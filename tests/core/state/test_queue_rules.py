"""Tests the rules of a session's queue as tables: which prompts it accepts, their order, and which is sent next."""

from __future__ import annotations

from typing import Any

import pytest

from bough.core.sessions.tasks import Tasks
from bough.core.state.enqueue import check_room, checked_prompt
from bough.core.store.sql import MESSAGES, TASKS
from bough.core.store.transactions import Change
from bough.core.turns.scheduler import Runnable
from bough.errors import Busy, Conflict, Invalid, TooLarge
from bough.model.message import Message
from bough.model.session import Caller, Session
from bough.model.task import Task, TaskStatus
from bough.settings import Settings
from tests.core.state.database_rows import StoredRows
from tests.core.state.fake_rows import FakeTx, session


@pytest.mark.parametrize("text", ["x", " x ", "é" * 5, "x" * 10])
def test_prompts_that_are_accepted(text: str) -> None:
    """Q1: Stores a prompt exactly as it was sent."""
    assert checked_prompt(text, 10) == text


@pytest.mark.parametrize(
    ("text", "family", "code"),
    [
        ("", Invalid, "empty_prompt"),
        (" \n\t", Invalid, "empty_prompt"),
        ("a\0b", Invalid, "bad_prompt"),
        ("x" * 11, TooLarge, "prompt_too_large"),
        ("é" * 6, TooLarge, "prompt_too_large"),
    ],
)
def test_prompts_that_are_refused(text: str, family: type[Invalid | TooLarge], code: str) -> None:
    """Q1: Refuses a prompt that is empty, cannot be stored, or has more bytes than the limit."""
    with pytest.raises(family) as raised:
        checked_prompt(text, 10)
    assert raised.value.code == code


@pytest.mark.parametrize("waiting", [0, 1, 2])
async def test_a_queue_with_room(waiting: int) -> None:
    """Q1: Accepts a prompt while fewer than the limit wait."""
    await check_room(Change(FakeTx({TASKS.waiting.name: waiting})), session(), 3)


@pytest.mark.parametrize("waiting", [3, 4])
async def test_a_full_queue(waiting: int) -> None:
    """Q1: Refuses a prompt when the limit is reached, and names the limit."""
    with pytest.raises(Busy) as raised:
        await check_room(Change(FakeTx({TASKS.waiting.name: waiting})), session(), 3)
    assert (raised.value.code, raised.value.details["limit"]) == ("queue_full", 3)


async def in_order(rows: StoredRows, owner: Session) -> tuple[str, str]:
    """Returns the open prompts in the order of their tasks and of their messages, one letter for each."""
    tasks = await rows.store.read(lambda tx: tx.all(TASKS.open, Task, session_id=owner.id))
    names = {task.id: task.prompt for task in tasks}
    messages = await rows.store.read(lambda tx: tx.all(MESSAGES.all, Message, session_id=owner.id))
    return "".join(names.values()), "".join(names.get(message.task_id or "", "") for message in messages)


@pytest.mark.parametrize(
    ("moved", "before", "order"),
    [
        ("a", "", "bcda"),
        ("a", "b", "abcd"),
        ("a", "c", "bacd"),
        ("a", "d", "bcad"),
        ("b", "a", "bacd"),
        ("b", "", "acdb"),
        ("c", "b", "acbd"),
        ("d", "a", "dabc"),
        ("d", "c", "abdc"),
        ("d", "", "abcd"),
    ],
)
async def test_moves_within_a_queue(rows: StoredRows, moved: str, before: str, order: str) -> None:
    """Q5: Moves a queued prompt before another one, or to the end; the others keep their order, and the transcript
    shows the same."""
    owner = await rows.session()
    ids = {name: (await rows.task(owner, name)).id for name in "abcd"}
    await Tasks(rows.store, Settings()).edit(Caller(), ids[moved], None, ids[before] if before else "")
    assert await in_order(rows, owner) == (order, order)


@pytest.mark.parametrize("before", ["running", "ended", "itself", "elsewhere"])
async def test_moves_that_are_refused(rows: StoredRows, before: str) -> None:
    """Q5: A prompt is moved only before another queued prompt of the same session."""
    owner = await rows.session()
    targets = {
        "ended": await rows.task(owner, "e", "completed"),
        "running": await rows.task(owner, "r", "running"),
        "itself": await rows.task(owner, "a"),
        "elsewhere": await rows.task(await rows.session(), "x"),
    }
    await rows.task(owner, "b")
    with pytest.raises(Conflict) as raised:
        await Tasks(rows.store, Settings()).edit(Caller(), targets["itself"].id, None, targets[before].id)
    assert raised.value.code == "task_not_queued"
    assert (await in_order(rows, owner))[0] == "rab"


async def test_a_move_leaves_the_running_prompt_first(rows: StoredRows) -> None:
    """Q5: Only queued prompts trade places; one that runs stays before them."""
    owner = await rows.session()
    await rows.task(owner, "r", "running")
    await rows.task(owner, "a")
    last = await rows.task(owner, "b")
    await Tasks(rows.store, Settings()).edit(Caller(), last.id, None, (await rows.task(owner, "c")).id)
    first = (await rows.store.read(lambda tx: tx.all(TASKS.open, Task, session_id=owner.id)))[1]
    await Tasks(rows.store, Settings()).edit(Caller(), last.id, None, first.id)
    assert (await in_order(rows, owner))[0] == "rbac"


HELD: dict[str, Any] = {"held": True}
PAUSED: dict[str, Any] = {"queue_paused": True}
ENDED: dict[str, Any] = {"status": "completed"}


@pytest.mark.parametrize(
    ("columns", "statuses", "sent"),
    [
        ({}, ["queued", "queued"], 0),
        ({}, ["completed", "queued"], 1),
        ({}, ["failed", "queued"], 1),
        ({}, ["cancelled", "queued"], 1),
        ({}, ["dispatching", "queued"], None),
        ({}, ["running", "queued"], None),
        ({}, ["waiting_permission", "queued"], None),
        ({}, ["stopping", "queued"], None),
        ({}, ["interrupted", "queued"], 0),
        ({}, ["completed"], None),
        ({}, [], None),
        (PAUSED, ["queued"], None),
        (PAUSED, ["interrupted", "queued"], 0),
        (ENDED, ["queued"], None),
        (ENDED, ["interrupted"], None),
    ],
)
async def test_which_prompt_is_sent_next(
    rows: StoredRows, columns: dict[str, Any], statuses: list[TaskStatus], sent: int | None
) -> None:
    """Q1, T6: Sends the first prompt that has not ended, one at a time, unless the session has ended; a paused queue
    starts no new prompt, but continues with an interrupted one."""
    owner = await rows.session(**columns)
    tasks = [await rows.task(owner, str(number), status) for number, status in enumerate(statuses)]
    expected = tasks[sent].id if sent is not None else None
    await check_next(rows, owner, expected)


async def test_a_held_turn_keeps_its_place(rows: StoredRows) -> None:
    """Q1: Prompts behind a turn that is held for a person wait for it."""
    owner = await rows.session()
    await rows.task(owner, "a", "interrupted", **HELD)
    await rows.task(owner, "b")
    await check_next(rows, owner, None)


async def check_next(rows: StoredRows, owner: Session, expected: str | None) -> None:
    """Checks that the scheduler and the claim of a turn agree about the next prompt."""
    runnable = await rows.store.read(lambda tx: tx.all(TASKS.runnable, Runnable))
    assert [entry.session_id for entry in runnable] == ([owner.id] if expected is not None else [])
    claimed = await rows.store.write(
        lambda change: change.tx.one(TASKS.claim, Task, session_id=owner.id, now=change.now)
    )
    assert (claimed.id if claimed is not None else None) == expected
    again = await rows.store.write(lambda change: change.tx.one(TASKS.claim, Task, session_id=owner.id, now=change.now))
    assert again is None
