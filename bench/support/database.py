"""Creates large databases to read from, in bulk by SQL, and keeps them under `.cache/bench` as long as the schema stays
the same. Bough's own migrations create the schema; rows look like those of finished sessions."""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.support.measure import CACHE
from bough.model.values.times import written
from bough.storage import migrate
from bough.storage.open import open_backend

SEED = 7
# A session every ten minutes, a message every few seconds, so that times and ids grow realistically.
START = 1_700_000_000_000
SESSION_EVERY = 600_000
MESSAGE_EVERY = 5_000
TALK = "the test fails because session holds its lock naïve 会话 🌳 return async with self store read work"
WORDS = TALK.split()
# The folder of all sessions; it need not exist.
CWD = "/nowhere/bench"


class Size(msgspec.Struct, frozen=True):
    """The number of sessions, how many of the newest have messages, and how many messages each."""

    sessions: int
    talking: int
    messages: int

    @property
    def total(self) -> int:
        return self.talking * self.messages

    def __str__(self) -> str:
        return f"{self.sessions:,} sessions, {self.total:,} messages"


async def made(size: Size) -> Path:
    """Returns the database of this size and creates it if necessary."""
    path = _place(size)
    if not path.exists():
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        db = await open_backend(str(part))
        await migrate.upgrade(db)
        await db.close()
        _fill(part, size)
        part.rename(path)
    return path


async def copied(size: Size, data: Path) -> None:
    """Copies the database of this size into a data folder."""
    _copy(await made(size), data)


def _place(size: Size) -> Path:
    """Returns the path of the database; removes those of another schema or of another version of this module."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for item in migrate.read_folder(migrate.FOLDER):
        digest.update(item.checksum.encode())
    folder = CACHE / digest.hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    for old in CACHE.iterdir():
        if old != folder:
            shutil.rmtree(old)
    return folder / f"{size.sessions}-{size.talking}-{size.messages}.db"


def _copy(source: Path, data: Path) -> None:
    data.mkdir(mode=0o700, parents=True)
    (data / "bough.db").touch(mode=0o600)  # the server refuses one that others can read
    shutil.copyfile(source, data / "bough.db")


def _fill(path: Path, size: Size) -> None:
    chance = random.Random(SEED)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -262144")
    indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    definitions: list[tuple[str, str]] = indexes.fetchall()
    connection.execute("BEGIN")
    # Rows are inserted without indexes, which are built at the end: this is several times faster.
    for name, _ in definitions:
        connection.execute(f"DROP INDEX {name}")
    _insert(connection, "repos", [_repo(chance)])
    repo_id: str = connection.execute("SELECT id FROM repos").fetchone()[0]
    sessions = [_session(chance, number, repo_id) for number in range(size.sessions)]
    _insert(connection, "sessions", sessions)
    _insert(connection, "session_private", [_private(session, size) for session in sessions])
    talking = sessions[-size.talking :]
    tasks = [_task(chance, item) for item in talking]
    _insert(connection, "tasks", tasks)
    _insert(connection, "messages", _messages(chance, tasks, size))
    for _, sql in definitions:
        connection.execute(sql)
    # Benchmarks with this database do not search, and a server that indexed a million messages would disturb them.
    connection.execute("DELETE FROM search_due")
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def _insert(connection: sqlite3.Connection, table: str, rows: Any) -> None:
    rows = iter(rows)
    first: dict[str, Any] = next(rows)
    names = list(first)
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    connection.execute(statement, list(first.values()))
    connection.executemany(statement, (list(row.values()) for row in rows))


def _id(chance: random.Random, milliseconds: int) -> str:
    value = (milliseconds << 80) | (0x7 << 76) | (0x2 << 62) | (chance.getrandbits(74) & ~(0x3 << 62))
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _time(milliseconds: int) -> str:
    return written(datetime.fromtimestamp(milliseconds / 1000, UTC))


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def _repo(chance: random.Random) -> dict[str, Any]:
    moment = _time(START)
    return {
        "id": _id(chance, START),
        "name": "bench",
        "path": CWD,
        "kind": "git",
        "default_branch": "main",
        "created_at": moment,
        "updated_at": moment,
    }


def _session(chance: random.Random, number: int, repo_id: str) -> dict[str, Any]:
    born = START + number * SESSION_EVERY
    session_id, moment = _id(chance, born), _time(born)
    return {
        "id": session_id,
        "repo_id": repo_id,
        "cwd": CWD,
        "agent": "demo",
        "title": _text(chance, 5),
        "description": "",
        "status": "completed",
        "activity": "idle",
        "permission_mode": "acceptEdits",
        "allowed_tools": "[]",
        "mcp_server_ids": "[]",
        "env": "{}",
        "context_files": "[]",
        "callback": '{"enabled":true,"includeLastMessage":true,"includeOriginalPrompt":false}',
        "kind": "root",
        "root_session_id": session_id,
        "created_by": '{"kind":"person","id":null}',
        "git_state": '{"branch":"main","sha":"0123456789012345678901234567890123456789","dirty":false}',
        "message_count": 100,
        "queue_paused": False,
        "archived": False,
        "end_reason": "idle_timeout",
        "created_at": moment,
        "updated_at": moment,
        "active_at": moment,
        "ended_at": moment,
    }


def _private(session: dict[str, Any], size: Size) -> dict[str, Any]:
    return {"session_id": session["id"], "env": "{}", "next_position": size.messages + 1, "next_task": 2}


def _task(chance: random.Random, session: dict[str, Any]) -> dict[str, Any]:
    moment = session["created_at"]
    return {
        "id": _id(chance, START),
        "session_id": session["id"],
        "position": 1,
        "prompt": _text(chance, 20),
        "source": "user",
        "status": "completed",
        "attempt": 1,
        "sent_attempt": 1,
        "held": False,
        "tool_use_count": 3,
        "created_at": moment,
        "updated_at": moment,
        "started_at": moment,
        "ended_at": moment,
    }


def _messages(chance: random.Random, tasks: list[dict[str, Any]], size: Size) -> Iterator[dict[str, Any]]:
    contents = [_content(chance) for _ in range(1000)]
    for number, task in enumerate(tasks, size.sessions - size.talking):
        born = START + number * SESSION_EVERY
        for position in range(1, size.messages + 1):
            yield {
                "id": _id(chance, born + position * MESSAGE_EVERY),
                "session_id": task["session_id"],
                "task_id": task["id"],
                "position": position,
                "role": "user" if position == 1 else "agent",
                "content": chance.choice(contents),
                "created_at": task["created_at"],
                "updated_at": task["created_at"],
            }


def _content(chance: random.Random) -> str:
    """Returns a text of a few words to several paragraphs."""
    text = _text(chance, round(chance.expovariate(1 / 30)) + 2)
    return msgspec.json.encode({"type": "text", "text": text, "partial": False}).decode()
