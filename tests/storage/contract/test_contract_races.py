"""O4: Tests the migration that gives races a table and sessions typed columns, on both databases, up and down, with
races from an older Bough."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.store.sql import RACES
from bough.core.trees.race.records import find_race, racers
from bough.core.trees.race.rules import result_of
from bough.model.session import Session
from bough.storage import migrate
from bough.storage.backend import Backend, Tx
from bough.storage.queries import Query

BEFORE, AFTER = 10, 11
NOW = "2026-11-15T08:00:00.000000Z"
RACE = "019a3af2-0000-7000-8000-00000000000a"
OPEN_RACE = "019a3af2-0000-7000-8000-00000000000b"
REPO = Query(
    "repo",
    "INSERT INTO repos (id, name, path, kind, created_at, updated_at) VALUES ('r', 'r', '/r', 'git', :now, :now)",
    "Adds a repository.",
)
SESSION = Query(
    "session",
    "INSERT INTO sessions (id, repo_id, cwd, agent, title, description, status, activity, permission_mode,"
    " allowed_tools, mcp_server_ids, env, context_files, callback, kind, root_session_id, created_by, git_state,"
    " message_count, queue_paused, archived, metadata, created_at, updated_at, active_at)"
    " VALUES (:id, 'r', '/r', 'demo', '', '', 'active', 'idle', 'plan', '[]', '[]', '{}', '[]', '{}', 'root', 'root',"
    " '{}', '{}', 0, FALSE, FALSE, :metadata, :now, :now, :now)",
    "Adds a session of the old schema.",
)
TASK = Query(
    "task",
    "INSERT INTO tasks (id, session_id, position, prompt, source, status, attempt, sent_attempt, held, tool_use_count,"
    " created_at, updated_at)"
    " VALUES (:id, :session_id, 1, :prompt, 'initial', 'completed', 1, 1, FALSE, 0, :now, :now)",
    "Adds the task of a racer.",
)
MESSAGE = Query(
    "message",
    "INSERT INTO messages (id, session_id, position, role, content, created_at, updated_at)"
    " VALUES (:id, 'root', :position, 'system', :content, :now, :now)",
    "Adds a message.",
)
METADATA = Query("metadata", "SELECT id, metadata FROM sessions ORDER BY id", "Reads the metadata of all sessions.")
GET = Query("get", "SELECT * FROM sessions WHERE id = :id", "Reads a session.")

KEPT: dict[str, Any] = {
    "raceId": RACE,
    "sessionId": "second",
    "how": "branch",
    "branch": None,
    "sha": "2" * 40,
    "committed": True,
    "merged": None,
    "into": None,
    "files": 0,
    "undoCheckpointId": None,
    "others": [
        {
            "sessionId": "first",
            "archived": True,
            "worktreeId": None,
            "worktreeRemoved": False,
            "recoveryRef": None,
            "recover": None,
            "message": None,
        }
    ],
}
OLD_METADATA: dict[str, dict[str, Any]] = {
    "root": {},
    "first": {"race": {"id": RACE, "number": 1}, "reason": "archived", "fork": "native"},
    "second": {"race": {"id": RACE, "number": 2, "kept": KEPT}, "fork": "replay"},
    "third": {"race": {"id": OPEN_RACE, "number": 1}, "ending": "failed"},
    "other": {
        "titleFrom": "agent",
        "agentMode": 'say "hi"',
        "linked": ["/r/a b.txt"],
        "told": ["Once.", "Grüße"],
        "configOptions": [{"id": "model", "currentValue": None, "options": [{"value": "m", "name": "M"}]}],
        "commands": [{"name": "help", "description": "", "input": None}],
    },
}


async def old_database(backend: Backend) -> None:
    """Fills a database of the version before: two races, one of them decided, and everything that metadata could
    hold."""
    await migrate.upgrade(backend, to=BEFORE)

    def record(*session_ids: str) -> dict[str, Any]:
        sessions = [{"sessionId": session_id, "taskId": f"task-{session_id}"} for session_id in session_ids]
        return {"kind": "fork", "start": "0" * 40, "head": "1" * 40, "cwd": "/r", "sessions": sessions}

    async def work(tx: Tx) -> None:
        await tx.run(REPO, now=NOW)
        for session_id, metadata in OLD_METADATA.items():
            await tx.run(SESSION, id=session_id, metadata=msgspec.json.encode(metadata), now=NOW)
        for session_id in ("first", "second", "third"):
            await tx.run(TASK, id=f"task-{session_id}", session_id=session_id, prompt=f"Do it, {session_id}.", now=NOW)
        contents: list[tuple[str, dict[str, Any]]] = [
            (RACE, {"type": "notice", "text": "A race.", "race": record("first", "second")}),
            (OPEN_RACE, {"type": "notice", "text": "A race.", "race": record("third", "purged")}),
            ("plain", {"type": "notice", "text": "race"}),
        ]
        for position, (message_id, content) in enumerate(contents):
            await tx.run(MESSAGE, id=message_id, position=position, content=msgspec.json.encode(content), now=NOW)

    await backend.transaction(work)


async def metadata_of(backend: Backend) -> dict[str, Any]:
    rows = await backend.read(lambda tx: tx.all(METADATA, tuple[str, msgspec.Raw]))
    return {session_id: msgspec.json.decode(metadata) for session_id, metadata in rows}


async def test_an_older_race_becomes_a_row(empty: Backend) -> None:
    """B6, R6: An older race has its racers, prompt and result; an open one stays open."""
    await old_database(empty)
    assert await migrate.upgrade(empty, to=AFTER) == [AFTER]
    # Today's records need today's columns.
    await migrate.upgrade(empty)

    async def read(tx: Tx) -> list[Any]:
        decided, still_open = await find_race(tx, RACE), await find_race(tx, OPEN_RACE[-8:])
        return [decided, still_open, await racers(tx, RACE), await racers(tx, OPEN_RACE)]

    decided, still_open, of_decided, of_open = await empty.read(read)
    assert (decided.session_id, decided.kind, decided.cwd) == ("root", "fork", "/r")
    assert (decided.prompt, decided.start_sha, decided.head_sha) == ("Do it, first.", "0" * 40, "1" * 40)
    assert decided.kept_session_id == "second"
    assert msgspec.to_builtins(result_of(decided)) == KEPT
    assert (still_open.kept_session_id, still_open.kept, still_open.prompt) == (None, None, "Do it, third.")
    assert [session.id for session in of_decided] == ["first", "second"]
    assert [session.id for session in of_open] == ["third"]
    assert await empty.read(lambda tx: tx.value(Query("count", "SELECT count(*) FROM races", "Counts."))) == 2


async def test_published_metadata_stays(empty: Backend) -> None:
    """R6: Sessions show the same `metadata` as before, except that a race's result is with the race."""
    await old_database(empty)
    await migrate.upgrade(empty, to=AFTER)
    for session_id, before in OLD_METADATA.items():
        session = await empty.read(lambda tx, session_id=session_id: tx.one(GET, Session, id=session_id))
        assert session is not None
        published = msgspec.json.decode(msgspec.json.encode(session))["metadata"]
        expected = msgspec.json.decode(msgspec.json.encode(before))
        expected.get("race", {}).pop("kept", None)
        assert published == expected


async def test_upgrade_and_downgrade_lose_nothing(empty: Backend) -> None:
    """R6: A downgrade restores the metadata, with the result of the race at its winner."""
    await old_database(empty)
    await migrate.upgrade(empty, to=AFTER)
    assert await migrate.downgrade(empty, to=BEFORE) == [AFTER]
    assert await metadata_of(empty) == OLD_METADATA
    assert await migrate.upgrade(empty, to=AFTER) == [AFTER]
    race = await empty.read(lambda tx: find_race(tx, RACE))
    assert msgspec.to_builtins(result_of(race)) == KEPT


async def test_races_go_with_their_session(empty: Backend) -> None:
    """B6: Purging the session where a race started removes the race."""
    await old_database(empty)
    await migrate.upgrade(empty, to=AFTER)

    async def work(tx: Tx) -> list[Any]:
        for statement in ("DELETE FROM messages", "DELETE FROM sessions WHERE id = 'root'"):
            await tx.run(Query("remove", statement, "Removes rows."))
        return await tx.all(RACES.of_tree, tuple, root="root")

    assert await empty.transaction(work) == []
