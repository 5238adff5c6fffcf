"""Keeps the search index up to date: triggers record what has changed, in the same transaction, and this catches up in
batches."""

from __future__ import annotations

import asyncio
import time

import msgspec
import structlog

from bough.core.search.message_text import searchable
from bough.core.search.words import indexed, of_session, vector
from bough.core.store.sql import SEARCH
from bough.core.store.transactions import CHANNEL_EVENTS, Change, Store
from bough.storage import queries
from bough.storage.backend import Tx

log = structlog.get_logger("bough.search")


# The size of a batch that is read, split into words and written at once, in some hundredths of a second.
BATCH = 200
BATCH_CHARACTERS = 1024 * 1024
# Seconds between two passes, so that a growing message is not indexed with every word. Searches do not wait for this.
PAUSE = 2.0
# Seconds until the next attempt after a failure.
RETRY_PAUSE = 5.0
# The most seconds that a search waits for new texts to be indexed.
CATCH_UP_WITHIN = 1.0

NEW = SEARCH.due.with_(which="id >= 0")
OLD = SEARCH.due.with_(which="id < 0")


class DueRow(msgspec.Struct):
    """A row of `search_due`: a message or a session that has changed."""

    id: int
    message_id: str | None
    session_id: str | None


class IndexText(msgspec.Struct):
    """A message or a session's title that is to be indexed; empty if it is gone."""

    message_id: str | None
    session_id: str | None
    content: msgspec.Raw | None = None
    title: str = ""


class IndexEntry(msgspec.Struct):
    """A message or title, split into words."""

    message_id: str | None
    session_id: str | None
    type: str
    words: str
    vector: str


class IndexBatch(msgspec.Struct):
    """Rows of `search_due`, and the texts that they refer to."""

    ids: list[int]
    read: list[IndexText]


class Index:
    """The index of all transcripts and titles."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = asyncio.Lock()

    async def run(self) -> None:
        """Indexes changes, and texts from before the index existed, until cancelled."""
        changed = asyncio.Event()
        changed.set()
        unlisten = self._store.db.listen(CHANNEL_EVENTS, lambda _: changed.set())
        try:
            while True:
                await changed.wait()
                changed.clear()
                try:
                    await self._keep_up()
                except Exception:
                    log.exception("indexing_failed")
                    await asyncio.sleep(RETRY_PAUSE)
                    changed.set()
                await asyncio.sleep(PAUSE)
        finally:
            unlisten()

    async def _keep_up(self) -> None:
        while True:
            start = time.monotonic()
            if not await self._step(NEW) and not await self._step(OLD):
                return
            # At most half of the time, so that other work gets its turn.
            await asyncio.sleep(time.monotonic() - start)

    async def catch_up(self) -> bool:
        """Indexes all changes until now; returns False if something is still missing."""
        deadline = time.monotonic() + CATCH_UP_WITHIN
        missing = SEARCH.backlog
        try:
            while await self._step(NEW):
                if time.monotonic() > deadline:
                    # The step that took so long may have been the last one.
                    missing = SEARCH.unindexed
                    break
        except Exception:
            # On a full disk, for example, the existing index can still be searched.
            log.exception("indexing_failed")
            return False
        return await self._store.read(lambda tx: tx.value(missing)) is None

    async def _step(self, query: queries.Query) -> bool:
        """Indexes one batch; returns whether there was anything to do."""
        async with self._lock:
            # There is seldom anything to do, and a short read shows that.
            if not await self._store.read(lambda tx: tx.all(query, DueRow, limit=1)):
                return False
            batch = await self._store.read(lambda tx: _read(tx, query), long=True)
            entries = await asyncio.to_thread(_split, batch.read, self._store.db.dialect)
            await self._store.write(lambda change: self._write(change, entries, batch.ids))
            return True

    async def _write(self, change: Change, entries: list[IndexEntry], ids: list[int]) -> None:
        for entry in entries:
            about = entry.message_id or entry.session_id
            if not entry.words:
                remove = SEARCH.remove_message if entry.message_id else SEARCH.remove_session
                await change.tx.run(remove, id=about)
                continue
            if entry.message_id:
                place = await change.tx.value(SEARCH.put_message, id=about, type=entry.type)
            else:
                place = await change.tx.value(SEARCH.put_session, id=about)
            if place is None:
                continue
            if self._store.db.dialect == "sqlite":
                await change.tx.run(SEARCH.put_words_sqlite, id=place, words=entry.words)
            else:
                await change.tx.run(SEARCH.put_words_postgres, id=place, words=entry.words, vector=entry.vector)
        await change.tx.run(SEARCH.done, ids=ids)


async def _read(tx: Tx, query: queries.Query) -> IndexBatch:
    """Reads the next batch: each message or title once, within the limits."""
    batch = IndexBatch([], [])
    seen: set[tuple[str | None, str | None]] = set()
    room = BATCH_CHARACTERS
    for due in await tx.all(query, DueRow, limit=BATCH):
        if room <= 0:
            break
        batch.ids.append(due.id)
        if (due.message_id, due.session_id) in seen:
            continue
        seen.add((due.message_id, due.session_id))
        text = IndexText(due.message_id, due.session_id)
        if due.message_id is not None:
            message = await tx.one(SEARCH.content, tuple[msgspec.Raw, str], id=due.message_id)
            if message is not None:
                text.content, text.session_id = message
                room -= len(bytes(text.content))
        else:
            titled = await tx.one(SEARCH.title, tuple[str, str], id=due.session_id)
            text.title = "\n".join(titled) if titled is not None else ""
        batch.read.append(text)
    return batch


def _split(read: list[IndexText], dialect: str) -> list[IndexEntry]:
    """Splits texts into words, in the form of the database."""
    entries: list[IndexEntry] = []
    for text_read in read:
        content = text_read.content
        kind, text = searchable(content) if content is not None else ("session", text_read.title)
        words = indexed(text)
        if not words.strip():
            words = ""
        elif text_read.session_id is not None:
            words = f"{words}{of_session(text_read.session_id)} "
        positions = vector(words) if dialect == "postgres" else ""
        entries.append(IndexEntry(text_read.message_id, text_read.session_id, kind, words, positions))
    return entries
