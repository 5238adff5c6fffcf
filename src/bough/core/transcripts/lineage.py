"""Finds what was said before a session was forked, and whether its agent can copy that conversation itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable

import msgspec
from msgspec.structs import asdict, replace

from bough.core.store.sql import SESSIONS, TASKS, TREES
from bough.core.store.transactions import Store
from bough.core.transcripts.read import END, NEVER, START
from bough.model.message import QUEUED_BASE, Message
from bough.model.session import Session
from bough.model.task import Task
from bough.storage.backend import Tx

# Some messages hold megabytes, so only this many are read at once.
PAGE = 100


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A range of one session's messages: between two positions and up to a moment; from the first message of one task
    on, only that task's. The fields are parameters of the `known_…` queries."""

    session_id: str
    low: int = START
    high: int = QUEUED_BASE
    until: str = NEVER
    task_first: int = END
    task_id: str = ""


class _Ends(msgspec.Struct):
    first: int | None
    last: int | None


async def spans(tx: Tx, session: Session) -> list[Span]:
    """Returns everything said so far as spans, newest first: the session's own, then those of its origins.

    - A fork knows everything up to the end of a task.
    - A side question knows everything up to the moment it was asked.
    - A fork of a session that had not finished a task knows what that session inherited."""
    result = [Span(session_id=session.id)]
    until = NEVER
    while session.forked_from_session_id is not None:
        source = await tx.one(SESSIONS.get, Session, id=session.forked_from_session_id)
        if source is None:
            break
        if session.kind == "btw":
            until = min(until, session.created_at)
            result.append(Span(session_id=source.id, until=until))
        elif session.branch_task_id is not None:
            ends = await tx.one(TREES.ends_of_task, _Ends, task_id=session.branch_task_id, queued_base=QUEUED_BASE)
            if ends is None or ends.first is None or ends.last is None:
                break
            # Its last messages may have come after the next prompt entered the transcript.
            message_span = Span(session_id=source.id, high=ends.last + 1, until=until, task_first=ends.first)
            result.append(replace(message_span, task_id=session.branch_task_id))
        session = source
    return result


async def backwards(store: Store, spans: list[Span]) -> AsyncGenerator[tuple[list[Message], list[Span]]]:
    """Yields pages, newest first, each with the spans that remain. Every page is a read of its own, because past
    messages do not move."""
    remaining = list(spans)
    while remaining:
        span, *older = remaining
        page = await store.read(_newest(span), long=True)
        remaining = [replace(span, high=page[-1].position), *older] if len(page) == PAGE else older
        yield page, remaining


async def forwards(store: Store, spans: list[Span]) -> AsyncGenerator[list[Message]]:
    """Yields pages, oldest first."""
    for span in reversed(spans):
        remaining: Span | None = span
        while remaining is not None:
            page = await store.read(_oldest(remaining), long=True)
            yield page
            remaining = replace(remaining, low=page[-1].position) if len(page) == PAGE else None


def _oldest(span: Span) -> Callable[[Tx], Awaitable[list[Message]]]:
    return lambda tx: tx.all(TREES.known_first, Message, limit=PAGE, **asdict(span))


def _newest(span: Span) -> Callable[[Tx], Awaitable[list[Message]]]:
    return lambda tx: tx.all(TREES.known_last, Message, limit=PAGE, **asdict(span))


async def count(tx: Tx, spans: list[Span]) -> int:
    """Counts the messages in the spans."""
    return sum([await tx.value(TREES.known_count, **asdict(span)) or 0 for span in spans])


async def origin(tx: Tx, session: Session, elsewhere: bool) -> str | None:
    """Returns the agent's own id of the conversation that this fork can copy in its current state, if any."""
    if session.forked_from_session_id is None or session.branch_task_id is None:
        return None
    source = await tx.one(SESSIONS.get, Session, id=session.forked_from_session_id)
    if source is None or source.agent != session.agent or (source.cwd != session.cwd and not elsewhere):
        return None
    under_way = [task for task in await tx.all(TASKS.open, Task, session_id=source.id) if task.status != "queued"]
    last = await tx.value(TREES.last_sent, session_id=source.id)
    if under_way or last != session.branch_task_id:
        return None
    return await tx.value(SESSIONS.agent_session, id=source.id)
