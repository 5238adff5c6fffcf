"""Tests as tables when a child's task is reported, to which session, and what the end of a task counts (Q3)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bough.core.state import task_ended
from bough.core.state.end_reasons import IDLE
from bough.core.state.limits import agent_time
from bough.core.state.reports.callbacks import Callbacks
from bough.core.store import records
from bough.core.store.sql import MESSAGES, TASKS, TREES
from bough.core.store.transactions import Change
from bough.model.message import Message
from bough.model.session import CallbackConfig, Kind, Session
from bough.model.task import Task, TaskStatus
from bough.model.trees.tree import Callback
from tests.core.state.database_rows import StoredRows
from tests.core.state.fake_rows import FakeTx, task

MUTE = CallbackConfig(enabled=False)


async def end(rows: StoredRows, child: Session, status: TaskStatus = "completed") -> list[Callback]:
    """Ends a task of a session, and returns the reports that the session has sent."""
    ended = await rows.task(child, "work", status)
    await rows.store.write(lambda change: task_ended.ended(change, ended))
    return (await Callbacks(rows.store).list(child.id, None, 10, 0)).rows


async def queued(rows: StoredRows, receiver: Session) -> list[str]:
    tasks = await rows.store.read(lambda tx: tx.all(TASKS.open, Task, session_id=receiver.id))
    return [waiting.source for waiting in tasks]


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
async def test_every_end_is_reported_once(rows: StoredRows, status: TaskStatus) -> None:
    """Q3: Each ended task of a child is one report, queued as a prompt of its parent."""
    parent = await rows.session()
    child = await rows.session("subsession", parent)
    assert [report.state for report in await end(rows, child, status)] == ["queued"]
    assert [report.state for report in await end(rows, child, status)] == ["queued", "queued"]
    assert await queued(rows, parent) == ["callback", "callback"]


@pytest.mark.parametrize(
    ("kind", "callback", "is_made_by_session", "is_reported"),
    [
        ("subsession", None, False, True),
        ("subsession", MUTE, False, False),
        ("fork", None, False, False),
        ("root", None, False, False),
        ("root", None, True, True),
        ("root", MUTE, True, False),
    ],
)
async def test_which_sessions_report(
    rows: StoredRows, kind: Kind, callback: CallbackConfig | None, is_made_by_session: bool, is_reported: bool
) -> None:
    """Q3: Children report to their parent and roots to the session that created them, unless reports are turned off;
    forks do not report."""
    above = await rows.session()
    child = await rows.session(
        kind,
        None if kind == "root" else above,
        callback=callback,
        maker=above if is_made_by_session else None,
    )
    reports = await end(rows, child)
    assert [report.parent_session_id for report in reports] == ([above.id] if is_reported else [])
    assert await queued(rows, above) == (["callback"] if is_reported else [])


@pytest.mark.parametrize(
    ("columns", "is_queued"),
    [
        ({}, True),
        ({"queue_paused": True}, True),
        ({"status": "completed", "end_reason": IDLE}, True),
        ({"status": "completed", "end_reason": "completed"}, False),
        ({"status": "cancelled", "end_reason": "cancelled"}, False),
        ({"status": "error", "end_reason": "agent_failed"}, False),
        ({"archived": True}, False),
        ({"archived": True, "status": "completed", "end_reason": IDLE}, False),
        ({"agent": "terminal"}, False),
    ],
)
async def test_which_parents_receive_a_report(rows: StoredRows, columns: dict[str, Any], is_queued: bool) -> None:
    """Q3: A report reopens a parent that only the idle timeout has ended. A parent that a person ended or archived, or
    whose agent would run its text, is shown the report and not sent it."""
    await Callbacks(rows.store).exclude(["terminal"])
    parent = await rows.session(**columns)
    (report,) = await end(rows, await rows.session("subsession", parent))
    assert (report.state, report.reason is None) == ("queued" if is_queued else "held", is_queued)
    assert await queued(rows, parent) == (["callback"] if is_queued else [])
    messages = await rows.store.read(lambda tx: tx.all(MESSAGES.all, Message, session_id=parent.id))
    shown = [msgspec.json.decode(message.content)["type"] for message in messages]
    assert shown == ["callback"]
    after = await rows.store.read(lambda tx: records.session(tx, parent.id))
    assert after.status == ("active" if is_queued else columns.get("status", "active"))


async def test_a_report_that_is_removed_from_the_queue_is_held(rows: StoredRows) -> None:
    """Q3: A report whose prompt ends before it was sent stays readable as held."""
    parent = await rows.session()
    child = await rows.session("subsession", parent)
    (report,) = await end(rows, child)

    async def cancel(change: Change) -> None:
        removed = await records.end_task(change, report.parent_task_id or "", "cancelled")
        assert removed is not None
        await task_ended.ended(change, removed)

    await rows.store.write(cancel)
    (held,) = (await Callbacks(rows.store).list(child.id, None, 10, 0)).rows
    assert (held.state, held.id) == ("held", report.id)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({}, 0),
        ({"totalTokens": 7, "inputTokens": 100}, 7),
        ({"inputTokens": 3, "outputTokens": 4}, 7),
        ({"inputTokens": 3}, 3),
        ({"totalTokens": None, "outputTokens": 4}, 4),
        ({"totalTokens": "many"}, 0),
        ({"totalTokens": 7, "counts": "turn"}, 7),
        ({"totalTokens": 7, "counts": "call"}, 0),
    ],
)
def test_tokens_of_a_turn(usage: dict[str, Any], tokens: int) -> None:
    """B5: Counts the total that an agent reports, or else what went in and came out, but never the last call alone."""
    assert task_ended._tokens(usage) == tokens  # pyright: ignore[reportPrivateUsage]


def second(number: int) -> str:
    return f"2026-01-01T00:00:{number:02}.000000Z"


@pytest.mark.parametrize(
    ("waits", "seconds"),
    [
        ([], 30),
        ([(20, 25)], 25),
        ([(12, 15), (20, 25)], 22),
        ([(12, 20), (15, 25)], 17),
        ([(12, 25), (15, 20)], 17),
        ([(5, 15)], 25),
        ([(10, 40)], 0),
    ],
)
async def test_working_time(waits: list[tuple[int, int]], seconds: float) -> None:
    """B5: A turn from second 10 to 40 counts without the time in which it waited for people, each second once."""
    change = Change(FakeTx({TREES.waits.name: [(second(asked), second(answered)) for asked, answered in waits]}))
    change.now = second(40)
    assert await agent_time.worked_seconds(change, task(started_at=second(10))) == seconds
