"""Keeps one clock for each account of an agent that has met a usage or rate limit: sets it, moves it, lifts it. The
tasks that wait for it are parked by `parked_turns`."""

from __future__ import annotations

import hashlib
import random
from datetime import timedelta
from typing import Any

import msgspec

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.login import key_variables
from bough.agents.errors import AgentLimited
from bough.core.store import records
from bough.core.store.sql import LIMITS, SESSIONS, TASKS
from bough.core.store.transactions import Change
from bough.model.agents.limit import AgentLimit, ParkedTask
from bough.model.message import raw
from bough.model.session import Session
from bough.model.task import Task
from bough.model.values.times import parse, seconds_between, written
from bough.settings import Settings
from bough.storage.backend import Tx

# The part of a pause that is added at random, so that servers that share an account do not all return at once, and
# the most seconds of it.
JITTER = 0.1
MOST_JITTER = 60.0
# The shortest pause, in seconds, between two tries, doubled with each: a vendor's time may be rounded down, or wrong.
SHORTEST_PAUSE = 15.0
# The longest pause without a vendor's time: six hours.
LONGEST_PAUSE = 6 * 3600.0
# Characters of the fingerprint of a session's own key.
FINGERPRINT = 8


def resumes(session: Session, settings: Settings) -> bool:
    """Tells whether a session's turns are parked at a limit instead of failing."""
    own = session.resume_after_limit
    return settings.resume_after_limit if own is None else own


async def account_of(tx: Tx, entry: CatalogEntry, session: Session) -> str:
    """Returns the account that a session's agent uses: empty for the server's own login, else the fingerprint of the
    session's own keys."""
    names = set(key_variables(entry)) & set(msgspec.json.decode(session.env, type=dict[str, str]))
    if not names:
        return ""
    stored: Any = await tx.value(SESSIONS.env, id=session.id)
    values = msgspec.json.decode(stored, type=dict[str, str]) if stored else {}
    own = "\0".join(f"{name}={values.get(name, '')}" for name in sorted(names))
    return f"key-{hashlib.sha256(own.encode()).hexdigest()[:FINGERPRINT]}"


class Origin(msgspec.Struct):
    """A tree that no agent created. Those that its agents created count as part of it."""

    id: str


async def origin_of(tx: Tx, session: Session) -> str:
    return await tx.value(LIMITS.origin, root=session.root_session_id) or session.root_session_id


async def parked_origins(tx: Tx, agent: str, account: str) -> set[str]:
    """Returns the trees in which turns wait for the limit of an account. An agent chooses its words, so only a limit
    that two of them met holds others."""
    return {origin.id for origin in await tx.all(LIMITS.parked_origins, Origin, agent=agent, account=account)}


async def meet(
    change: Change, entry: CatalogEntry, session: Session, error: AgentLimited, reason: str, settings: Settings
) -> AgentLimit:
    """Sets the clock of an account whose turn has met a limit, and returns it. Several turns that meet the same limit
    count as one try. Of the times that different trees give, the earliest counts."""
    account = await account_of(change.tx, entry, session)
    known = await change.tx.one(LIMITS.get, AgentLimit, agent=entry.name, account=account)
    tries, resumes_at = 0, None
    if known is not None:
        if known.resumes_at is not None and known.resumes_at > change.now:
            # It was met by a turn that had started before.
            tries, resumes_at = known.tries, known.resumes_at
            if error.ends_at is not None:
                others = await parked_origins(change.tx, entry.name, account) - {await origin_of(change.tx, session)}
                decisive = min if others else max
                resumes_at = decisive(resumes_at, _resume_time(change.now, error.ends_at, tries, settings))
        else:
            tries = known.tries + 1
    if resumes_at is None and tries < settings.limit_tries:
        resumes_at = _resume_time(change.now, error.ends_at, tries, settings)
    return await _set(
        change,
        AgentLimit(entry.name, account, reason, error.is_usage, change.now, resumes_at, tries),
    )


def _resume_time(now: str, ends_at: str | None, tries: int, settings: Settings) -> str:
    if ends_at is None:
        pause = min(settings.limit_pause * 60 * 2**tries, LONGEST_PAUSE)
    else:
        shortest = min(SHORTEST_PAUSE * 2**tries, LONGEST_PAUSE) if tries else 0.0
        pause = max(seconds_between(now, ends_at), shortest)
    jitter = random.uniform(0, min(pause * JITTER, MOST_JITTER))
    return written(parse(now) + timedelta(seconds=pause + jitter))


async def try_now(change: Change, agent: str, account: str) -> AgentLimit | None:
    """Lets an account's turns be tried at once, with all tries again; returns None if it has no limit."""
    known = await change.tx.one(LIMITS.get, AgentLimit, agent=agent, account=account)
    if known is None:
        return None
    change.wake()
    return await _set(change, msgspec.structs.replace(known, resumes_at=change.now, tries=0))


async def try_parked(change: Change, session_id: str) -> AgentLimit | None:
    """Lets the account of a session's parked turn be tried at once; returns None if no turn of it is parked."""
    for task in await change.tx.all(TASKS.open, Task, session_id=session_id):
        if task.parked is not None:
            parked = msgspec.json.decode(task.parked, type=ParkedTask)
            return await try_now(change, parked.agent, parked.account)
    return None


async def lift(change: Change, entry: CatalogEntry, session: Session) -> None:
    """Lifts the limit of a session's account, because a turn has succeeded after its time."""
    if not await change.tx.value(LIMITS.of_agent, agent=entry.name):
        return
    account = await account_of(change.tx, entry, session)
    if await change.tx.run(LIMITS.lift, agent=entry.name, account=account, now=change.now):
        change.wake()


async def _set(change: Change, limit: AgentLimit) -> AgentLimit:
    """Stores a limit, and shows it in all tasks that wait for it."""
    stored = await change.tx.one(LIMITS.set, AgentLimit, **msgspec.structs.asdict(limit))
    assert stored is not None
    for task in await change.tx.all(LIMITS.parked, Task, agent=stored.agent, account=stored.account):
        assert task.parked is not None
        parked = msgspec.json.decode(task.parked, type=ParkedTask)
        fresh = shown(stored, parked.parked_at)
        if fresh != parked:
            await records.update_task(change, task.id, parked=raw(fresh))
    return stored


def shown(limit: AgentLimit, parked_at: str) -> ParkedTask:
    """Returns what a task that waits for a limit shows of it."""
    kind = "usage" if limit.is_usage else "rate"
    return ParkedTask(limit.agent, limit.account, kind, limit.reason, parked_at, limit.resumes_at, limit.tries)
