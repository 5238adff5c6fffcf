"""Reads a fork's transcript with the messages that it inherited before its own."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict, replace

from bough.core.store import records
from bough.core.store.short_ids import find, missing
from bough.core.store.sql import MESSAGES, TREES
from bough.core.store.transactions import Store
from bough.core.transcripts import lineage
from bough.core.transcripts.lineage import Span
from bough.core.transcripts.read import END, NEVER, checked_moment
from bough.model.message import Message
from bough.model.session import Session
from bough.storage.backend import Tx


class _Moment(msgspec.Struct):
    updated_at: str


async def inherited(tx: Tx, session: Session) -> list[Message]:
    """Returns the messages that a session inherited, in order; each names its own session."""
    return await _first(tx, (await lineage.spans(tx, session))[1:], END)


async def page(
    store: Store,
    session_id: str,
    *,
    limit: int | None = None,
    before: str | None = None,
    after: str | None = None,
    since: str | None = None,
) -> list[Message]:
    """Returns a page like `Transcript.page`, with inherited messages before the session's own."""
    moment = checked_moment(since) if since is not None else None
    most = limit if limit is not None else END

    async def work(tx: Tx) -> list[Message]:
        own, *others = await lineage.spans(tx, await records.session(tx, session_id))
        # Includes the session's own queued prompts.
        spans = [replace(own, high=END), *others]
        if after is not None:
            place, position = await _place(tx, spans, after)
            spans = [*spans[:place], replace(spans[place], low=position)]
        if before is not None:
            place, position = await _place(tx, spans, before)
            spans = [replace(spans[place], high=position), *spans[place + 1 :]]
        if moment is not None:
            return await _changed(tx, spans, moment, limit)
        return await _first(tx, spans, most) if after is not None else await _last(tx, spans, most)

    return await store.read(work, long=True)


async def _place(tx: Tx, spans: list[Span], message_id: str) -> tuple[int, int]:
    """Returns the span that contains a message, and its position there."""
    message = await find(tx, "messages", message_id, MESSAGES.get, Message)
    for place, span in enumerate(spans):
        just_it = replace(span, low=message.position - 1, high=min(span.high, message.position + 1))
        if span.session_id == message.session_id and await lineage.count(tx, [just_it]):
            return place, message.position
    raise missing("messages", message_id)


async def _first(tx: Tx, spans: list[Span], most: int) -> list[Message]:
    messages: list[Message] = []
    for span in reversed(spans):
        if len(messages) < most:
            messages += await tx.all(TREES.known_first, Message, limit=most - len(messages), **asdict(span))
    return messages


async def _last(tx: Tx, spans: list[Span], most: int) -> list[Message]:
    messages: list[Message] = []
    for span in spans:
        if len(messages) < most:
            messages += await tx.all(TREES.known_last, Message, limit=most - len(messages), **asdict(span))
    return messages[::-1]


async def _changed(tx: Tx, spans: list[Span], since: str, limit: int | None) -> list[Message]:
    """Returns the messages changed after `since`. Messages changed at the same moment are never split."""
    last = NEVER
    if limit is not None:
        moments: list[str] = []
        for span in spans:
            next_ones = await tx.all(TREES.known_moments, _Moment, since=since, limit=limit, **asdict(span))
            moments += [message.updated_at for message in next_ones]
        last = sorted(moments)[limit - 1] if len(moments) >= limit else NEVER
    messages: list[Message] = []
    for span in reversed(spans):
        messages += await tx.all(TREES.known_changed, Message, since=since, last=last, **asdict(span))
    return sorted(messages, key=lambda message: message.updated_at)
