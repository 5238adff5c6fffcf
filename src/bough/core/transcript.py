"""Reading transcripts: whole, by pages, or what changed since (A1). Writing them is `recorder`."""

from __future__ import annotations

from bough.core import rows
from bough.core.lookup import find, missing
from bough.core.rows import MESSAGES
from bough.core.store import Store
from bough.errors import Invalid
from bough.model.message import Message
from bough.model.session import Session
from bough.model.times import parse, written
from bough.storage.backend import Tx

# Beyond every position, that of waiting prompts included.
END = 1 << 62


class Transcript:
    """Messages in the order of the conversation."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def whole(self, session_id: str) -> list[Message]:
        async def work(tx: Tx) -> list[Message]:
            session = await rows.session(tx, session_id)
            return await tx.all(MESSAGES.all, Message, session_id=session.id)

        return await self._store.read(work, long=True)

    async def page(
        self,
        session_id: str,
        *,
        limit: int | None = None,
        before: str | None = None,
        after: str | None = None,
        since: str | None = None,
    ) -> list[Message]:
        """The last `limit` messages (or all), those next to a known message, or those changed since a time."""
        most = limit if limit is not None else END
        moment = _moment(since) if since is not None else None

        async def work(tx: Tx) -> list[Message]:
            session = await rows.session(tx, session_id)
            if moment is not None:
                return await tx.all(MESSAGES.since, Message, session_id=session.id, since=moment, limit=most)
            if after is not None:
                position = await _position(tx, session, after)
                return await tx.all(MESSAGES.first, Message, session_id=session.id, position=position, limit=most)
            position = await _position(tx, session, before) if before is not None else END
            newest = await tx.all(MESSAGES.last, Message, session_id=session.id, position=position, limit=most)
            return newest[::-1]

        return await self._store.read(work)

    async def message(self, message_id: str) -> Message:
        return await self._store.read(lambda tx: find(tx, "messages", message_id, MESSAGES.get, Message))


async def _position(tx: Tx, session: Session, message_id: str) -> int:
    """Where a message stands in this very transcript."""
    message = await find(tx, "messages", message_id, MESSAGES.get, Message)
    if message.session_id != session.id:
        raise missing("messages", message_id)
    return message.position


def _moment(text: str) -> str:
    try:
        return written(parse(text))
    except OverflowError:
        raise Invalid("bad_time", f"{text[:64]!r} lies beyond the years that can be written in UTC.") from None
