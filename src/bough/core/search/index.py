"""Owns keeping the search's index up to date: triggers write down what has changed in the transaction that changes it,
and this catches up in batches. Asking the index is `search`'s part."""

from __future__ import annotations

import asyncio
import time

import msgspec
import structlog

from bough.core.search.text import searchable
from bough.core.search.words import indexed, of_session, vector
from bough.core.store.sql import SEARCH
from bough.core.store.transactions import CHANNEL_EVENTS, Change, Store
from bough.storage import queries
from bough.storage.backend import Tx

log = structlog.get_logger("bough.search")


# So much is read, cut into words and written at once: a matter of some hundredths of a second.
BATCH = 200
BATCH_CHARACTERS = 1024 * 1024
# After something happened it is left alone for this long: a message that grows is then put into the index now and then,
# not with every word. Whoever searches does not wait for it.
PAUSE = 2.0
# A database that could not be written to is tried again after this.
RETRY_PAUSE = 5.0
# Whoever searches waits this long at most for what is new to be put into the index.
CATCH_UP_WITHIN = 1.0

NEW = SEARCH.due.with_(which="id >= 0")
OLD = SEARCH.due.with_(which="id < 0")


class Due(msgspec.Struct):
    """A row of `search_due`: a message or a session that has changed."""

    id: int
    message_id: str | None
    session_id: str | None


class Read(msgspec.Struct):
    """A message or a session's title that has to be put into the index, as it was read; empty if it is gone."""

    message_id: str | None
    session_id: str | None
    content: msgspec.Raw | None = None
    title: str = ""


class Entry(msgspec.Struct):
    """The same, cut into words."""

    message_id: str | None
    session_id: str | None
    type: str
    words: str
    vector: str


class Batch(msgspec.Struct):
    """Rows that are done with, and what they were about."""

    ids: list[int]
    read: list[Read]


class Index:
    """The words of all transcripts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = asyncio.Lock()

    async def run(self) -> None:
        """Keeps up until cancelled: what was there before search was, then whatever changes."""
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
            # At most half of the time, so that others come in between.
            await asyncio.sleep(time.monotonic() - start)

    async def catch_up(self) -> bool:
        """Puts into the index what has changed until now; False if there is still something missing."""
        deadline = time.monotonic() + CATCH_UP_WITHIN
        try:
            while await self._step(NEW):
                if time.monotonic() > deadline:
                    return False
        except Exception:
            # On a full disk, say, what the index has is found all the same.
            log.exception("indexing_failed")
            return False
        return await self._store.read(lambda tx: tx.value(SEARCH.backlog)) is None

    async def _step(self, which: queries.Query) -> bool:
        """One batch; whether there was one that was full."""
        async with self._lock:
            # Most often there is nothing to do, and then a short look is all.
            if not await self._store.read(lambda tx: tx.all(which, Due, limit=1)):
                return False
            batch = await self._store.read(lambda tx: _read(tx, which), long=True)
            entries = await asyncio.to_thread(_cut, batch.read, self._store.db.dialect)
            await self._store.write(lambda change: self._write(change, entries, batch.ids))
            return True

    async def _write(self, change: Change, entries: list[Entry], ids: list[int]) -> None:
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


async def _read(tx: Tx, which: queries.Query) -> Batch:
    """The next rows and what they are about, each once, and not more than is good at once."""
    batch = Batch([], [])
    seen: set[tuple[str | None, str | None]] = set()
    room = BATCH_CHARACTERS
    for due in await tx.all(which, Due, limit=BATCH):
        if room <= 0:
            break
        batch.ids.append(due.id)
        if (due.message_id, due.session_id) in seen:
            continue
        seen.add((due.message_id, due.session_id))
        read = Read(due.message_id, due.session_id)
        if due.message_id is not None:
            found = await tx.one(SEARCH.content, tuple[msgspec.Raw, str], id=due.message_id)
            if found is not None:
                read.content, read.session_id = found
                room -= len(bytes(read.content))
        else:
            titled = await tx.one(SEARCH.title, tuple[str, str], id=due.session_id)
            read.title = "\n".join(titled) if titled is not None else ""
        batch.read.append(read)
    return batch


def _cut(read: list[Read], dialect: str) -> list[Entry]:
    entries: list[Entry] = []
    for one in read:
        kind, text = searchable(one.content) if one.content is not None else ("session", one.title)
        words = indexed(text)
        if not words.strip():
            words = ""
        elif one.session_id is not None:
            words = f"{words}{of_session(one.session_id)} "
        places = vector(words) if dialect == "postgres" else ""
        entries.append(Entry(one.message_id, one.session_id, kind, words, places))
    return entries
