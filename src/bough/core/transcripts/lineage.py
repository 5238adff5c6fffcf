"""Where a session comes from: what was said before it was forked, and whether its agent can copy that itself. Making
branches is `branching`, telling an agent what was said `replay`."""

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

# So many messages are read at once: some of them hold megabytes.
PAGE = 100


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one session's words: those between two positions and up to a moment, and from the first word of
    a task on only those of that task and of none. The fields are parameters of the queries `known_…`."""

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
    """All that was said up to now, newest first: the session's own words, then those of its origins that it knows. A
    fork knows all up to the end of a task; a question aside all there was when it was asked. Of an origin that had
    ended no task itself, a fork knows what that knew of its own origin."""
    found = [Span(session_id=session.id)]
    until = NEVER
    while session.forked_from_session_id is not None:
        source = await tx.one(SESSIONS.get, Session, id=session.forked_from_session_id)
        if source is None:
            break
        if session.kind == "btw":
            until = min(until, session.created_at)
            found.append(Span(session_id=source.id, until=until))
        elif session.branch_task_id is not None:
            ends = await tx.one(TREES.ends_of_task, _Ends, task_id=session.branch_task_id, queued_base=QUEUED_BASE)
            if ends is None or ends.first is None or ends.last is None:
                break
            # Its last words may have come when the next prompt stood in the transcript already.
            known = Span(session_id=source.id, high=ends.last + 1, until=until, task_first=ends.first)
            found.append(replace(known, task_id=session.branch_task_id))
        session = source
    return found


async def backwards(store: Store, known: list[Span]) -> AsyncGenerator[tuple[list[Message], list[Span]]]:
    """Pages of what was said, newest first, each with what is left to read behind it. Each page is a read of its own:
    what was said does not move."""
    left = list(known)
    while left:
        span, *older = left
        page = await store.read(_newest(span), long=True)
        left = [replace(span, high=page[-1].position), *older] if len(page) == PAGE else older
        yield page, left


async def forwards(store: Store, known: list[Span]) -> AsyncGenerator[list[Message]]:
    """Pages of what was said, oldest first."""
    for span in reversed(known):
        left: Span | None = span
        while left is not None:
            page = await store.read(_oldest(left), long=True)
            yield page
            left = replace(left, low=page[-1].position) if len(page) == PAGE else None


def _oldest(span: Span) -> Callable[[Tx], Awaitable[list[Message]]]:
    return lambda tx: tx.all(TREES.known_first, Message, limit=PAGE, **asdict(span))


def _newest(span: Span) -> Callable[[Tx], Awaitable[list[Message]]]:
    return lambda tx: tx.all(TREES.known_last, Message, limit=PAGE, **asdict(span))


async def count(tx: Tx, known: list[Span]) -> int:
    """How many messages there are."""
    return sum([await tx.value(TREES.known_count, **asdict(span)) or 0 for span in known])


async def origin(tx: Tx, session: Session, elsewhere: bool) -> str | None:
    """The agent's own id of the conversation that a fork can be copied from, just as it stands now."""
    if session.forked_from_session_id is None or session.branch_task_id is None:
        return None
    source = await tx.one(SESSIONS.get, Session, id=session.forked_from_session_id)
    if source is None or source.agent != session.agent or (source.cwd != session.cwd and not elsewhere):
        return None
    under_way = [one for one in await tx.all(TASKS.open, Task, session_id=source.id) if one.status != "queued"]
    last = await tx.value(TREES.last_sent, session_id=source.id)
    if under_way or last != session.branch_task_id:
        return None
    return await tx.value(SESSIONS.agent_session, id=source.id)
