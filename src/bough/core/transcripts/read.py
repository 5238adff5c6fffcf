"""Reads transcripts: whole, by pages, or what changed since a time (A1)."""

from __future__ import annotations

from typing import Any, NamedTuple

from bough.core.store import records
from bough.core.store.short_ids import find, find_id, missing
from bough.core.store.sql import MESSAGES, REPOS
from bough.core.store.transactions import Store
from bough.errors import Invalid
from bough.model.message import Message
from bough.model.repo import Repo
from bough.model.session import Session
from bough.model.values.times import parse, written
from bough.storage.backend import Tx

# Below every position, and above every one including queued prompts.
START = -1
END = 1 << 62
# The last time that can be stored.
NEVER = "9999-12-31T23:59:59.999999Z"
# Reading this many messages takes less time than handing the work to a thread.
SHORT = 200


class SessionTranscript(NamedTuple):
    """A session with its repository and messages."""

    session: Session
    repo: Repo
    messages: list[Message]


class Transcript:
    """Reads messages in conversation order."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def whole(self, session_id: str, *, messages: bool = True) -> SessionTranscript:
        """Returns a session with its repository and, unless declined, all its messages."""

        async def work(tx: Tx) -> SessionTranscript:
            session = await records.session(tx, session_id)
            repo = await find(tx, "repos", session.repo_id, REPOS.get, Repo)
            short = messages and session.message_count <= SHORT
            return SessionTranscript(
                session, repo, await tx.all(MESSAGES.all, Message, session_id=session.id) if short else []
            )

        whole = await self._store.read(work)
        if messages and whole.session.message_count > SHORT:
            every = await self._store.read(
                lambda tx: tx.all(MESSAGES.all, Message, session_id=whole.session.id), long=True
            )
            return whole._replace(messages=every)
        return whole

    async def page(
        self,
        session_id: str,
        *,
        limit: int | None = None,
        before: str | None = None,
        after: str | None = None,
        since: str | None = None,
    ) -> list[Message]:
        """Returns the last `limit` messages (or all), the first ones after a message, or those changed since a time.
        `before` and `after` restrict each of these."""
        most = limit if limit is not None else END
        moment = checked_moment(since) if since is not None else None

        async def work(tx: Tx) -> list[Message]:
            whole_id = await find_id(tx, "sessions", session_id)
            where = {
                "session_id": whole_id,
                "low": await _position(tx, whole_id, after) if after is not None else START,
                "high": await _position(tx, whole_id, before) if before is not None else END,
            }
            if moment is not None:
                return await _changed(tx, where, moment, limit)
            query, step = (MESSAGES.first, 1) if after is not None else (MESSAGES.last, -1)
            return (await tx.all(query, Message, limit=most, **where))[::step]

        return await self._store.read(work, long=most > SHORT)

    async def message(self, message_id: str) -> Message:
        return await self._store.read(lambda tx: find(tx, "messages", message_id, MESSAGES.get, Message))


async def _changed(tx: Tx, where: dict[str, Any], since: str, limit: int | None) -> list[Message]:
    """Returns at least `limit` messages changed after `since`. Messages changed at the same moment are never split, so
    a client that continues from the last moment misses none."""
    until = None
    if limit is not None:
        until = await tx.value(MESSAGES.moment, since=since, skip=limit - 1, **where)
    return await tx.all(MESSAGES.changed, Message, since=since, until=until or NEVER, **where)


async def _position(tx: Tx, session_id: str, message_id: str) -> int:
    """Returns a message's position in this transcript."""
    message = await find(tx, "messages", message_id, MESSAGES.get, Message)
    if message.session_id != session_id:
        raise missing("messages", message_id)
    return message.position


def checked_moment(text: str) -> str:
    """Parses a time and returns it in the stored form."""
    try:
        return written(parse(text))
    except OverflowError:
        raise Invalid("bad_time", f"{text[:64]!r} is outside the range of years that UTC can represent.") from None
