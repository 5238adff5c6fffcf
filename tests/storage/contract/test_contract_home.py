"""O4: Tests the SQL behind the overview on both databases: the migration up and down with rows, turn ends and
spending."""

from __future__ import annotations

from typing import Any

from bough.core.store.sql import HOME
from bough.model.values.times import quarter
from bough.model.views.home import TurnUsage
from bough.storage import migrate
from bough.storage.backend import Backend, Tx
from bough.storage.queries import Query

BEFORE, AFTER = 8, 9
NOW = "2026-11-15T08:{}:00.000000Z"
REPO = Query(
    "repo",
    "INSERT INTO repos (id, name, path, kind, created_at, updated_at) VALUES ('r', 'r', '/r', 'git', :now, :now)",
    "A repository.",
)
SESSION = Query(
    "session",
    "INSERT INTO sessions (id, repo_id, cwd, agent, title, description, status, activity, permission_mode,"
    " allowed_tools, mcp_server_ids, env, context_files, callback, kind, root_session_id, created_by, git_state,"
    " message_count, queue_paused, archived, metadata, created_at, updated_at, active_at, turns, tokens, spent)"
    " VALUES (:id, 'r', '/r', 'demo', '', '', 'active', 'idle', 'plan', '[]', '[]', '{}', '[]', '{}', 'root', :id,"
    " '{}', '{}', 0, FALSE, FALSE, '{}', :now, :now, :now, 2, 10, 0.5)",
    "A session that has used something.",
)
SEEN = Query("seen", "SELECT seen_at FROM sessions ORDER BY id", "What people have seen.")
QUARTERS = Query("quarters", "SELECT quarter, turns, tokens, cost FROM spending ORDER BY quarter", "All of it.")
UNREAD = Query("unread", "SELECT session_id, task_id, status FROM unread ORDER BY session_id", "All of it.")
REMOVE = Query("remove", "DELETE FROM sessions WHERE id = :id", "A session goes.")


async def filled(backend: Backend) -> None:
    """Fills a database of the version before, with three sessions in two quarters of an hour."""
    await migrate.upgrade(backend, to=BEFORE)

    async def work(tx: Tx) -> None:
        await tx.run(REPO, now=NOW.format("00"))
        for name, minute in (("a", "14"), ("b", "15"), ("c", "29")):
            await tx.run(SESSION, id=name, now=NOW.format(minute))

    await backend.transaction(work)


async def test_upgrade_and_downgrade_with_rows(empty: Backend) -> None:
    """O3, O4: After an upgrade everything counts as seen and past usage is counted; a downgrade leaves no trace."""
    await filled(empty)
    assert await migrate.upgrade(empty, to=AFTER) == [AFTER]

    async def work(tx: Tx) -> list[Any]:
        return [await tx.all(query, tuple) for query in (SEEN, QUARTERS, UNREAD)]

    seen, spent, unread = await empty.read(work)
    assert [moment for (moment,) in seen] == [NOW.format(minute) for minute in ("14", "15", "29")]
    assert spent == [("2026-11-15T08:00", 2, 10, 0.5), ("2026-11-15T08:15", 4, 20, 1.0)]
    assert unread == []
    assert await migrate.downgrade(empty, to=BEFORE) == [AFTER]
    assert await migrate.upgrade(empty, to=AFTER) == [AFTER]


async def test_ended_turns_are_unread_until_somebody_looks(empty: Backend) -> None:
    """O4: A session has at most one unread end; looking at the session removes it once, and it is deleted with its
    session."""
    await filled(empty)
    await migrate.upgrade(empty, to=AFTER)

    async def work(tx: Tx) -> list[Any]:
        for session, task, status in (("a", "1", "completed"), ("a", "2", "failed"), ("b", "3", "completed")):
            await tx.run(HOME.note_end, session_id=session, task_id=task, status=status, now=NOW.format("30"))
        known: list[Any] = await tx.all(UNREAD, tuple)
        looked = [await tx.run(HOME.read, session_id="a") for _ in range(2)]
        await tx.run(REMOVE, id="b")
        return [known, looked, await tx.all(UNREAD, tuple)]

    assert await empty.transaction(work) == [[("a", "2", "failed"), ("b", "3", "completed")], [1, 0], []]


async def test_usage_of_turns_adds_up(empty: Backend) -> None:
    """O4: Turns in the same quarter of an hour share a row, and a sum starts at a quarter."""
    await migrate.upgrade(empty, to=AFTER)

    async def work(tx: Tx) -> list[TurnUsage | None]:
        for minute in ("00", "14", "15"):
            await tx.run(HOME.spend, quarter=quarter(NOW.format(minute)), tokens=3, cost=0.25)
        sinces = ("", "2026-11-15T08:00", "2026-11-15T08:15", "2026-11-15T08:30")
        return [await tx.one(HOME.spent, TurnUsage, since=since) for since in sinces]

    both, single, none = TurnUsage(3, 9, 0.75), TurnUsage(1, 3, 0.25), TurnUsage(0, 0, 0.0)
    assert await empty.transaction(work) == [both, both, single, none]
