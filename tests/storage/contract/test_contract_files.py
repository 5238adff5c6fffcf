"""R6: Tests the table of files on both databases: created, removed, and emptied with its tasks."""

from __future__ import annotations

import base64

from bough.core.transcripts import files
from bough.model.file import File, FileInfo
from bough.storage import migrate, queries
from bough.storage.backend import Backend, Tx
from bough.storage.queries import Query

BEFORE_FILES = 9
FILES = queries.load("files")
TASKS = queries.load("tasks")
NOW = "2026-01-01T00:00:00.000000Z"

REPO = Query(
    "repo",
    "INSERT INTO repos (id, name, path, kind, created_at, updated_at) VALUES ('r', 'r', '/r', 'plain', :now, :now)",
    "A repository.",
)
OLD_SESSION = Query(
    "session",
    "INSERT INTO sessions (id, repo_id, cwd, agent, title, description, status, activity, permission_mode,"
    " allowed_tools, mcp_server_ids, env, context_files, callback, kind, root_session_id, created_by, git_state,"
    " message_count, queue_paused, archived, metadata, created_at, updated_at, active_at)"
    " VALUES ('s', 'r', '/', 'demo', '', '', 'active', 'idle', 'default', '[]', '[]', '{}', '[]',"
    " '{}', 'root', 's', '{}', '{}', 0, FALSE, FALSE, '{}', :now, :now, :now)",
    "A session of the schema before races.",
)
SESSION = Query(
    "session",
    "INSERT INTO sessions (id, repo_id, cwd, agent, title, description, status, activity, permission_mode,"
    " allowed_tools, mcp_server_ids, env, context_files, callback, kind, root_session_id, created_by, git_state,"
    " message_count, queue_paused, archived, created_at, updated_at, active_at)"
    " VALUES ('s', 'r', '/', 'demo', '', '', 'active', 'idle', 'default', '[]', '[]', '{}', '[]',"
    " '{}', 'root', 's', '{}', '{}', 0, FALSE, FALSE, :now, :now, :now)",
    "A session.",
)
KEEPER = Query(
    "keeper",
    "INSERT INTO keepers (id, session_id, ready, stored, has_modes, options, needs_history, made_of, created_at)"
    " VALUES ('k', 's', TRUE, 0, FALSE, '[]', FALSE, '', :now)",
    "A keeper from before.",
)
TAKE_AWAY = Query("take_away", "DELETE FROM files WHERE position < 2", "Leaves those of one test.")
TAKES = Query("takes", "SELECT takes_images, takes_resources FROM keepers", "What the agents of keepers take.")


async def test_files_come_and_go_with_their_task(empty: Backend) -> None:
    """R6: Existing rows survive the upgrade; files are read back in order and unchanged, and are removed with their
    task or, on a downgrade, with the table."""
    await migrate.upgrade(empty, to=BEFORE_FILES)
    await empty.transaction(lambda tx: _before(tx, OLD_SESSION))
    for _ in range(2):
        await migrate.upgrade(empty)
        assert await empty.read(lambda tx: tx.all(TAKES, tuple[bool, bool])) == [(False, False)]
        await empty.transaction(lambda tx: _add(tx, "one"))
        await empty.transaction(lambda tx: _add(tx, "other"))
        await migrate.downgrade(empty, BEFORE_FILES)
        await migrate.upgrade(empty)
        assert await _infos(empty, "one") == []
        await empty.transaction(lambda tx: _keep(tx, "one"))
        await empty.transaction(lambda tx: _keep(tx, "other"))
        rows = await empty.read(lambda tx: tx.all(FILES.of_task, File, task_id="one"))
        assert [(file.name, file.size, file.bytes) for file in rows] == [("ä.bin", 2, b"\x00\xff"), ("b", 0, b"")]
        await empty.transaction(lambda tx: tx.run(TASKS.remove_of_session, session_id="s"))
        assert await _infos(empty, "one") == await _infos(empty, "other") == []
        await migrate.downgrade(empty, BEFORE_FILES)


async def test_only_the_start_of_a_long_text_is_read(empty: Backend) -> None:
    """B1: Reads only the start of a long text, in whole characters, and nothing of a picture."""
    await migrate.upgrade(empty)
    long = "€𝄞ä" * 1000
    texts = {"long": ("text/plain", long), "short": ("text/x-python", "x"), "none": ("text/plain", "")}

    async def add(tx: Tx) -> None:
        await _before(tx, SESSION)
        await _add(tx, "one")
        for place, (name, (kind, text)) in enumerate((texts | {"picture": ("image/png", long)}).items(), 2):
            data = base64.b64encode(text.encode()).decode()
            about = {"id": name, "task_id": "one", "position": place, "name": name, "mime_type": kind}
            await tx.run(FILES.add, **about, size=len(text.encode()), data=data, now=NOW)
        await tx.run(TAKE_AWAY)

    await empty.transaction(add)
    for characters in (1, 2, 7, 100):
        starts = await empty.read(lambda tx, most=characters: files.beginnings(tx, "one", most))
        assert starts.keys() == texts.keys()
        assert (starts["short"], starts["none"]) == ("x", "")
        assert long.startswith(starts["long"])
        assert characters <= len(starts["long"]) <= characters * 4 + 3


async def _infos(backend: Backend, task_id: str) -> list[FileInfo]:
    return await backend.read(lambda tx: tx.all(FILES.infos, FileInfo, task_id=task_id))


async def _before(tx: Tx, session: Query) -> None:
    for query in (REPO, session, KEEPER):
        await tx.run(query, now=NOW)


async def _add(tx: Tx, task_id: str) -> None:
    await tx.one(
        TASKS.add,
        tuple,
        id=task_id,
        session_id="s",
        position=len(task_id),
        prompt="x",
        source="user",
        source_session_id=None,
        now=NOW,
    )
    await _keep(tx, task_id)


async def _keep(tx: Tx, task_id: str) -> None:
    """Adds two files, the second one first."""
    for position, name, data in ((1, "b", b""), (0, "ä.bin", b"\x00\xff")):
        await tx.run(
            FILES.add,
            id=f"{task_id}-{position}",
            task_id=task_id,
            position=position,
            name=name,
            mime_type="text/plain",
            size=len(data),
            data=base64.b64encode(data).decode(),
            now=NOW,
        )
