"""Fans out events: follows the events table and hands rows and streaming deltas to every subscriber. Rows that this
process wrote are not read again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping

import msgspec
import structlog

from bough.core.events.subscriber_buffer import EventFrame, Subscription
from bough.core.store.sql import EVENTS
from bough.core.store.transactions import CHANNEL_EVENTS, Store
from bough.errors import BoughError
from bough.model.event import Delta, Event
from bough.storage.backend import Tx

log = structlog.get_logger("bough.hub")

PAGE = 500
# How long to wait before reading the database again after an error.
RETRY_PAUSE = 1.0
_encode = msgspec.json.Encoder().encode


class Hub:
    """Fans events out in commit order. A delta never overtakes the event of its message."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._subscriptions: set[Subscription] = set()
        self._deltas: list[Delta] = []
        self._wake = asyncio.Event()
        self._cursor = 0
        # Events that arrived with their notifications, and whether some may have come without.
        self._announced: list[list[Event]] = []
        self._behind = False
        # Set when the server is about to end: streams that only the server can end must not hold it up.
        self.closing = asyncio.Event()
        # Messages that are still growing, so that a late subscriber gets each one's current text.
        self._growing: dict[str, tuple[str, Callable[[], str]]] = {}
        # Messages stored a moment ago: their first event must go out before more of their text.
        self._fresh: dict[str, tuple[str, Callable[[], str]]] = {}

    @property
    def subscribers(self) -> int:
        return len(self._subscriptions)

    async def run(self, started: asyncio.Event) -> None:
        """Follows the events table until cancelled and sets `started` once it has begun."""
        forget = self._store.db.listen(CHANNEL_EVENTS, self._hear)
        try:
            self._store.followed = True
            self._cursor = await self._newest()
            started.set()
            while True:
                await self._wake.wait()
                self._wake.clear()
                try:
                    await self._pump()
                except BoughError as error:
                    log.warning("events_not_read", error=error.message)
                    self._behind = True
                    await asyncio.sleep(RETRY_PAUSE)
                    self._wake.set()
        finally:
            self._store.followed = False
            forget()

    async def _newest(self) -> int:
        async def work(tx: Tx) -> int:
            return int(await tx.value(EVENTS.newest) or 0)

        return await self._store.read(work)

    def _hear(self, payload: str) -> None:
        events = self._store.announced(payload)
        if events is None:
            self._behind = True
        else:
            self._announced.append(events)
        self._wake.set()

    async def _pump(self) -> None:
        # Deltas are counted before the rows are read. Text is published after its commit, so every row that a delta
        # builds on is among those read or announced before.
        ripe, fresh = len(self._deltas), list(self._fresh)
        batches, self._announced = self._announced, []
        for events in batches:
            if events[0].cursor == self._cursor + 1:
                self._send_events(events)
            elif events[-1].cursor > self._cursor:
                self._behind = True
        if self._behind or self._store.unheard:
            await self._catch_up()
        self._growing |= {message: self._fresh.pop(message) for message in fresh if message in self._fresh}
        deltas, self._deltas = self._deltas[:ripe], self._deltas[ripe:]
        for delta in _merged(deltas):
            self._send(_live_frame(delta, delta.session_id))

    async def _catch_up(self) -> None:
        """Sends events from the table that no notification brought."""
        self._behind = False
        while True:
            events = await self._store.read(lambda tx: _after(tx, self._cursor, None))
            self._send_events(events)
            if len(events) < PAGE:
                break

    def _send_events(self, events: list[Event]) -> None:
        for event in events:
            self._send(_event_frame(event))
            self._cursor = event.cursor

    def _send(self, frame: EventFrame) -> None:
        for subscription in self._subscriptions:
            subscription.offer(frame)

    # Called by the recorder

    def grow(self, session_id: str, message_id: str, offset: int, text: str) -> None:
        """Publishes text that a message has gained."""
        self._deltas.append(Delta("message.delta", session_id, message_id, offset, text))
        self._wake.set()

    def growing(self, session_id: str, message_id: str, text: Callable[[], str]) -> None:
        """Sends late subscribers the result of `text()` until `grown` is called."""
        self._fresh[message_id] = (session_id, text)
        self._wake.set()

    def grown(self, message_id: str) -> None:
        self._fresh.pop(message_id, None)
        self._growing.pop(message_id, None)

    # Called for subscribers

    @contextlib.asynccontextmanager
    async def subscribe(
        self, session_id: str | None, cursor: int | None, kinds: frozenset[str] | None = None
    ) -> AsyncGenerator[SubscriberStream]:
        """Opens a stream of everything after `cursor`, or from now on. `kinds` filters live events only."""
        subscription = Subscription(session_id, kinds)
        subscription.cursor = self._cursor if cursor is None else cursor
        start = self._cursor
        texts = [
            Delta("message.snapshot", owner, message_id, 0, text())
            for message_id, (owner, text) in self._growing.items()
            if session_id in (None, owner)
        ]
        self._subscriptions.add(subscription)
        try:
            yield SubscriberStream(self, subscription, start, texts)
        finally:
            self._subscriptions.discard(subscription)

    async def missed(self, cursor: int, session_id: str | None, until: int) -> AsyncGenerator[list[EventFrame]]:
        """Yields the events between two cursors in pages. A gap is reported for events that were already pruned."""
        if cursor > until:
            # This server never issued the cursor: the data was replaced, so the client must start over.
            yield [_gap(cursor, until, session_id)]
        while cursor < until:
            # Checked again for every page, because events are pruned while a slow reader catches up.
            oldest, page = await self._oldest_and_page(cursor, session_id)
            if oldest is not None and cursor < oldest - 1:
                yield [_gap(cursor, min(oldest - 1, until), session_id)]
            events = [event for event in page if event.cursor <= until]
            if not events:
                return
            cursor = events[-1].cursor
            yield [_event_frame(event) for event in events]

    async def _oldest_and_page(self, cursor: int, session_id: str | None) -> tuple[int | None, list[Event]]:
        async def work(tx: Tx) -> tuple[int | None, list[Event]]:
            return await tx.value(EVENTS.oldest), await _after(tx, cursor, session_id)

        return await self._store.read(work)


class SubscriberStream:
    """Carries one subscriber from missed events through current texts to live events."""

    def __init__(self, hub: Hub, subscription: Subscription, start: int, texts: list[Delta]) -> None:
        self._hub = hub
        self._subscription = subscription
        self._start = start
        self._texts = texts

    @property
    def cursor(self) -> int:
        """Everything up to this cursor has been sent to the subscriber."""
        return self._subscription.cursor

    async def frames(self) -> AsyncGenerator[list[EventFrame]]:
        """Yields frames forever. Raises `Dropped` if the subscriber is too slow."""
        subscription = self._subscription
        async for frames in self._hub.missed(subscription.cursor, subscription.session_id, self._start):
            yield frames
            subscription.sent(frames)
        subscription.cursor = self._start
        # Carries its cursor so that a client that received nothing else can resume from here.
        ready = _live_frame({"type": "stream.ready", "cursor": self._start}, subscription.session_id)
        ready.cursor = self._start
        yield [ready, *(_live_frame(text, text.session_id) for text in self._texts)]
        while True:
            frames = await subscription.next()
            yield frames
            subscription.sent(frames)


async def _after(tx: Tx, cursor: int, session_id: str | None) -> list[Event]:
    if session_id is None:
        return await tx.all(EVENTS.after, Event, cursor=cursor, limit=PAGE)
    return await tx.all(EVENTS.after_in_session, Event, session_id=session_id, cursor=cursor, limit=PAGE)


def _gap(cursor: int, until: int, session_id: str | None) -> EventFrame:
    return _live_frame({"type": "stream.gap", "from": cursor, "to": until}, session_id)


def _event_frame(event: Event) -> EventFrame:
    return EventFrame(_encode(event), event.type, event.session_id, event.cursor)


def _live_frame(body: Delta | Mapping[str, object], session_id: str | None) -> EventFrame:
    kind = body.type if isinstance(body, Delta) else str(body["type"])
    return EventFrame(_encode(body), kind, session_id, None)


def _merged(deltas: list[Delta]) -> list[Delta]:
    """Merges neighboring deltas of the same message."""
    merged: list[Delta] = []
    for delta in deltas:
        last = merged[-1] if merged else None
        if last is not None and last.message_id == delta.message_id and last.offset + len(last.text) == delta.offset:
            last.text += delta.text
        else:
            merged.append(delta)
    return merged
