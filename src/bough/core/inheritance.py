"""Reading a fork together with what was said before it: the messages that it inherited, before its own. Which those are
is `lineage`'s part; a session's own messages alone are `transcript`."""

from __future__ import annotations

from bough.core import lineage, rows
from bough.core.lookup import find_id, missing
from bough.core.rows import MESSAGES
from bough.core.store import Store
from bough.core.transcript import checked_moment
from bough.model.message import Message
from bough.model.session import Session
from bough.storage.backend import Tx


async def inherited(tx: Tx, session: Session) -> list[Message]:
    """What of others' words a session knows, in order; each message names the session that it is of."""
    if session.forked_from_session_id is None:
        return []
    return [one for one in await lineage.messages(tx, session) if one.session_id != session.id]


async def page(
    store: Store,
    session_id: str,
    *,
    limit: int | None = None,
    before: str | None = None,
    after: str | None = None,
    since: str | None = None,
) -> list[Message]:
    """Like `Transcript.page`, with what the session inherited before its own messages."""
    moment = checked_moment(since) if since is not None else None

    async def work(tx: Tx) -> list[Message]:
        session = await rows.session(tx, session_id)
        own = await tx.all(MESSAGES.all.with_(columns="*"), Message, session_id=session.id)
        found = [*await inherited(tx, session), *own]
        places = {one.id: place for place, one in enumerate(found)}
        low = await _place(tx, places, after) + 1 if after is not None else 0
        high = await _place(tx, places, before) if before is not None else len(found)
        return found[low:high]

    found = await store.read(work, long=True)
    if moment is not None:
        return _changed(found, moment, limit)
    if limit is None:
        return found
    return found[:limit] if after is not None else found[max(0, len(found) - limit) :]


async def _place(tx: Tx, places: dict[str, int], message_id: str) -> int:
    place = places.get(await find_id(tx, "messages", message_id))
    if place is None:
        raise missing("messages", message_id)
    return place


def _changed(found: list[Message], since: str, limit: int | None) -> list[Message]:
    """What changed after a moment; what changed at the same one is never parted."""
    changed = sorted((one for one in found if one.updated_at > since), key=lambda one: one.updated_at)
    if limit is None or len(changed) <= limit:
        return changed
    last = changed[limit - 1].updated_at
    return [one for one in changed if one.updated_at <= last]
