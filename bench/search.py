"""Measures searching 200,000 messages: a page with snippets at the service against the bare statement of SQLite's
full-text index for the same words; and indexing all of them."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.support import database, measure
from bench.support.database import Size
from bench.support.measure import Sample
from bench.support.report import Result, Row, duration, slower
from bough.core.search.service import Search, SearchFilter
from bough.core.store.transactions import Store
from bough.storage.open import open_backend
from bough.storage.sqlite_tx import connect

SIZE = Size(2_000, 2_000, 100)
RARE = "kingfisher"
EVERY = 4_000
PAGE = 20
ROUNDS = 9
CALLS = 3
MOST = 3.0
MOST_ADDED = 0.010

DUE = "INSERT INTO search_due (message_id) SELECT id FROM messages"
BARE = "SELECT rowid, rank FROM search_index WHERE search_index MATCH ? ORDER BY rank LIMIT ?"


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        await database.copied(SIZE, data)
        rare = _planted(data / "bough.db")
        db = await open_backend(str(data / "bough.db"))
        bare = connect(data / "bough.db", read_only=True)
        try:
            search = Search(Store(db))
            rows = [await _indexed(search, bare)]
            rows.append(await _added(search, bare, rare))
            for about, text, query in (
                ("a phrase", '"session holds"', '"session holds"'),
                ("three words", "session holds lock", "session AND holds AND lock"),
                ("a word of nearly every message", "session", "session"),
            ):
                floor = measure.per_call(CALLS, _fetch(bare, query))
                ours = measure.per_await(CALLS, _find(search, text))
                samples = await measure.alternate(ROUNDS, floor, ours)
                rows.append(slower(f"{about}: the best {PAGE}", samples, MOST))
            rows.append(await _in_one_session(search, bare))
        finally:
            bare.close()
            await db.close()
    return Result(title="search", about=_ABOUT, rows=rows)


_ABOUT = f"""\
- **Setup:** {SIZE.total:,} messages, from a few words to a few paragraphs long, made of few different words.
- **Floor:** the full-text index alone, asked on a bare sqlite3 connection for the numbers of the best {PAGE} by its
  own rank.
- **Ours**, at the service: changes are indexed first, then the newest 10,000 matches are ranked and counted, and
  the page gets its messages, sessions and snippets with marked words.
- A rare word occurs in one message of {EVERY:,}. What Bough adds for it is nearly the whole cost of a search
  besides the index.
- **In one session:** the same common word in the {SIZE.messages} messages of one session.
- The first row indexes everything at once, as a server does at half that pace after an upgrade. Floor: the words
  alone, put into an empty index of the same kind in one transaction."""


def _planted(path: Path) -> int:
    """Puts the rare word into some messages and marks all messages to be indexed; returns their number."""
    connection = sqlite3.connect(path, isolation_level=None)
    content = msgspec.json.encode({"type": "text", "text": f"there was a {RARE} at the river"}).decode()
    changed = connection.execute("UPDATE messages SET content = ? WHERE rowid % ? = 0", (content, EVERY)).rowcount
    connection.execute("DELETE FROM search_due")
    connection.execute(DUE)
    connection.close()
    return changed


async def _indexed(search: Search, bare: sqlite3.Connection) -> Row:
    start = time.perf_counter()
    while not await search.index.catch_up():
        pass
    ours = Sample([time.perf_counter() - start])
    words: list[tuple[str]] = bare.execute("SELECT words FROM search_index").fetchall()
    with tempfile.TemporaryDirectory() as name:
        floor = connect(Path(name) / "floor.db")
        floor.execute("CREATE VIRTUAL TABLE search_index USING fts5 (words, tokenize = 'ascii')")
        start = time.perf_counter()
        floor.execute("BEGIN")
        floor.executemany("INSERT INTO search_index (words) VALUES (?)", words)
        floor.execute("COMMIT")
        taken = Sample([time.perf_counter() - start])
        floor.close()
    if len(words) != SIZE.total:
        raise RuntimeError(f"{len(words)} messages are in the index")
    return slower(f"{SIZE.total:,} messages put into the index", (taken, ours))


def _fetch(bare: sqlite3.Connection, query: str) -> Callable[[], object]:
    return lambda: bare.execute(BARE, (query, PAGE)).fetchall()


def _find(search: Search, text: str, session_id: str | None = None) -> Callable[[], asyncio.Task[object]]:
    async def find() -> object:
        page = await search.find(text, SearchFilter(session_id=session_id), PAGE)
        if len(page.results) != PAGE or page.indexing or not all(hit.marks for hit in page.results):
            raise RuntimeError(f"{text!r} has {page.total} hits")
        return page

    return lambda: asyncio.ensure_future(find())


async def _added(search: Search, bare: sqlite3.Connection, rare: int) -> Row:
    floor, ours = await measure.alternate(
        ROUNDS, measure.per_call(CALLS, _fetch(bare, RARE)), measure.per_await(CALLS, _find(search, RARE))
    )
    added = ours.median - floor.median
    return Row(
        name=f"a word of {rare} messages: the best {PAGE}",
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"+{added * 1e3:.1f} ms",
        target=f"≤ +{MOST_ADDED * 1e3:.0f} ms",
        number=added,
        ok=added <= MOST_ADDED,
    )


async def _in_one_session(search: Search, bare: sqlite3.Connection) -> Row:
    [session_id] = bare.execute("SELECT session_id FROM messages LIMIT 1 OFFSET ?", (SIZE.total // 2,)).fetchone()
    samples = await measure.alternate(
        ROUNDS,
        measure.per_call(CALLS, _fetch(bare, "session")),
        measure.per_await(CALLS, _find(search, "session", session_id)),
    )
    return slower(f"… the same word in one session, {SIZE.messages} messages", samples, 1.0)
