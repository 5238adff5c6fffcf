"""Tests that a session's past is read page by page, however long and deep it is (B1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import asdict

from bough.core.live_agents.start.context import SessionContext
from bough.core.store import records
from bough.core.store.sql import SESSIONS
from bough.core.store.transactions import Change
from bough.core.transcripts import inherited, lineage
from bough.errors import NotFound
from bough.model.session import Session
from bough.model.values.ids import new_id
from tests.core.trees.tree_helpers import Grove, grove

# Deeper than Python's limit of recursion.
DEEP = 1100
# Columns of a row that nobody sets when a session is created.
GROWN = (
    *("status", "activity", "message_count", "queue_paused", "archived", "context", "cost", "ended_at"),
    *("created_at", "updated_at", "active_at", "turns", "tokens", "seconds", "spent", "seen_at", "metadata"),
    *("confinement", "unconfined_reason", "stuck", "stuck_since"),
)


async def forked_often(trees: Grove, source: str) -> Session:
    """Returns the last of many nested forks, none of which has any messages."""

    async def work(change: Change) -> Session:
        last = await records.session(change.tx, source)
        for _ in range(DEEP):
            columns = {name: value for name, value in asdict(last).items() if name not in GROWN}
            columns |= {"id": new_id(), "kind": "fork", "forked_from_session_id": last.id, "branch_task_id": None}
            columns |= {"race_id": None, "race_number": None, "config_options": None}
            fork = await change.tx.one(SESSIONS.add, Session, now=change.now, **columns)
            assert fork is not None
            last = fork
        return last

    return await trees.server.services.store.write(work)


async def test_many_nested_forks(tmp_path: Path, database_url: str) -> None:
    """B1: The depth of a fork makes no difference to what its agent learns and people see."""
    async with grove(tmp_path, database=database_url) as trees:
        store = trees.server.services.store
        root = await trees.root()
        await trees.say(root, "[[say red]]")
        fork, _ = await trees.fork(root)
        last = await forked_often(trees, fork)
        assert "red" in (await SessionContext(store, last).history()).text
        assert [item.session_id for item in await inherited.page(store, last.id, limit=1)] == [root]


async def test_a_fork_is_read_page_by_page(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B1, A2: Pages in both directions are parts of the whole transcript, and end where the fork began."""
    async with grove(tmp_path, database=database_url) as trees:
        store = trees.server.services.store
        root = await trees.root()
        await trees.say(root, "[[say red]]")
        fork, task = await trees.fork(root, "[[say blue]]")
        await trees.client.wait_task(task)
        await trees.say(root, "[[say never]]")
        last, task = await trees.fork(fork, "[[say violet]]")
        await trees.client.wait_task(task)
        whole = await inherited.page(store, last)
        ids = [item.id for item in whole]
        assert {item.session_id for item in whole} == {root, fork, last}
        for limit in range(1, len(ids) + 2):
            assert [item.id for item in await inherited.page(store, last, limit=limit)] == ids[-limit:]
        for place, message_id in enumerate(ids):
            assert [item.id for item in await inherited.page(store, last, before=message_id)] == ids[:place]
            behind = await inherited.page(store, last, after=message_id, limit=2)
            assert [item.id for item in behind] == ids[place + 1 : place + 3]
        between = await inherited.page(store, last, after=ids[0], before=ids[-1])
        assert [item.id for item in between] == ids[1:-1]
        changed = sorted(whole, key=lambda message: message.updated_at)
        first = await inherited.page(store, last, since="2000-01-01T00:00:00Z", limit=2)
        assert [item.id for item in first] == [item.id for item in changed if item.updated_at <= changed[1].updated_at]
        later = await inherited.page(store, last, since=first[-1].updated_at)
        assert [item.id for item in first + later] == [item.id for item in changed]
        [unknown] = [
            item["id"]
            for item in await trees.client.get(f"/api/sessions/{root}/messages")
            if "[[say never" in str(item)
        ]
        with pytest.raises(NotFound):
            await inherited.page(store, last, before=unknown)
        monkeypatch.setattr(lineage, "PAGE", 2)
        session = await store.read(lambda tx: records.session(tx, last))
        spans = await store.read(lambda tx: lineage.spans(tx, session))
        pages = [page async for page, _ in lineage.backwards(store, spans)]
        assert [item.id for page in pages for item in page] == ids[::-1]
        assert max(map(len, pages)) == 2
        assert await store.read(lambda tx: lineage.count(tx, spans)) == len(ids)
