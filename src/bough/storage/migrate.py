"""Migrates the schema: numbered SQL files, up and down, one transaction each, with a copy made first."""

from __future__ import annotations

import asyncio
import hashlib
import re
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bough.errors import Busy, Conflict, Internal, Invalid
from bough.storage.backend import Backend, Tx
from bough.storage.queries import TOKEN, Query

FOLDER = Path(__file__).with_name("migrations")

# Two servers that start at once take turns; a migration that takes longer than this needs a person.
TURN_SECONDS = 120.0
TURN_POLL_SECONDS = 0.05

_FILE = re.compile(r"(\d{4})_(\w+)\.(?:(sqlite|postgres)\.)?(up|down)\.sql")
_EXISTS = {
    "sqlite": Query(
        "exists",
        "SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'",
        "Whether anything was ever applied.",
    ),
    "postgres": Query(
        "exists",
        "SELECT 1 WHERE to_regclass('schema_migrations') IS NOT NULL",
        "Whether anything was ever applied.",
    ),
}
_CREATE = Query(
    "create_schema_migrations",
    "CREATE TABLE IF NOT EXISTS schema_migrations"
    " (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL, checksum TEXT NOT NULL)",
    "The table of what has been applied.",
)
_APPLIED = Query("applied", "SELECT * FROM schema_migrations ORDER BY version", "What has been applied.")
_RECORD = Query(
    "record",
    "INSERT INTO schema_migrations (version, name, applied_at, checksum)"
    " VALUES (:version, :name, :applied_at, :checksum)",
    "Record one migration as applied.",
)
_FORGET = Query("forget", "DELETE FROM schema_migrations WHERE version = :version", "Record one as undone.")
_PG_TEXT = re.compile(rf"(?:{TOKEN.pattern})|(?<!\bAS\s)\b(?P<text>TEXT)\b(?!\s+TEXT\b)", TOKEN.flags)


class Applied(msgspec.Struct, frozen=True):
    """A row of `schema_migrations`."""

    version: int
    name: str
    applied_at: str
    checksum: str


class Migration(msgspec.Struct, frozen=True):
    """One migration as written for one database."""

    version: int
    name: str
    up: str
    down: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.up.encode()).hexdigest()


class Status(msgspec.Struct, frozen=True):
    """A database's version, and its applied and pending migrations."""

    version: int
    applied: list[Applied]
    pending: list[Migration]


async def status(backend: Backend, folder: Path = FOLDER) -> Status:
    """Compares the database with the migration files, or says why they do not belong together."""
    known = read_folder(folder, backend.dialect)

    async def work(tx: Tx) -> list[Applied]:
        exists = await tx.value(_EXISTS[backend.dialect])
        return await tx.all(_APPLIED, Applied) if exists else []

    applied = await backend.read(work)
    for place, row in enumerate(applied, start=1):
        if row.version != place:
            raise Conflict("schema_broken", f"The database lacks migration {place} but has {row.version}.")
        if place > len(known):
            raise Conflict(
                "schema_newer",
                f"This database was written by a newer Bough: it has schema {applied[-1].version}, this Bough knows "
                f"{len(known)}. Start the newer one, or downgrade the database with it.",
            )
        if row.checksum != known[place - 1].checksum:
            raise Conflict("schema_edited", f"Migration {place} ({row.name}) was edited after it was applied.")
    return Status(len(applied), applied, known[len(applied) :])


async def upgrade(backend: Backend, to: int | None = None, folder: Path = FOLDER) -> list[int]:
    """Applies pending migrations up to version `to` and returns their numbers. An existing SQLite file is copied
    first."""
    async with _turn(backend):
        now = await status(backend, folder)
        last = now.version + len(now.pending) if to is None else to
        if not now.version <= last <= now.version + len(now.pending):
            raise Invalid("schema_version", f"Cannot upgrade from schema {now.version} to {last}.")
        chosen = now.pending[: last - now.version]
        if chosen and now.version > 0:
            await backend.keep_copy(f"v{now.version}")
        await backend.transaction(lambda tx: tx.run(_CREATE))
        for migration in chosen:
            await _apply(backend, migration)
        return [migration.version for migration in chosen]


async def downgrade(backend: Backend, to: int, folder: Path = FOLDER) -> list[int]:
    """Reverts the newest migrations down to version `to` and returns their numbers. A SQLite file is copied first."""
    async with _turn(backend):
        now = await status(backend, folder)
        if not 0 <= to <= now.version:
            raise Invalid("schema_version", f"Cannot downgrade from schema {now.version} to {to}.")
        reverted = read_folder(folder, backend.dialect)[to : now.version][::-1]
        if reverted:
            await backend.keep_copy(f"v{now.version}")
        for migration in reverted:
            await _undo(backend, migration)
        return [migration.version for migration in reverted]


def read_folder(folder: Path, dialect: str = "sqlite") -> list[Migration]:
    """Returns the migrations in order: numbered from 1 without a gap, each with both directions.

    Where the databases differ, each has a file: `NNNN_name.sqlite.up.sql`, `NNNN_name.postgres.up.sql`."""
    scripts: dict[tuple[int, str], dict[str, str]] = {}
    for path in sorted(folder.glob("*.sql")):
        match = _FILE.fullmatch(path.name)
        if match is None:
            raise Internal("migrations_broken", f"{path.name} is not named NNNN_name.up.sql or NNNN_name.down.sql.")
        ways = scripts.setdefault((int(match[1]), match[2]), {})
        if match[3] in (None, dialect):
            if match[4] in ways:
                raise Internal(
                    "migrations_broken", f"{path.name} repeats a script that another file has for both databases."
                )
            ways[match[4]] = path.read_text(encoding="utf-8")
    migrations: list[Migration] = []
    for place, ((version, name), ways) in enumerate(scripts.items(), start=1):
        if version != place or ways.keys() != {"up", "down"}:
            raise Internal("migrations_broken", f"Migration {place:04} is missing, doubled, or lacks up or down.")
        migrations.append(Migration(version, name, ways["up"], ways["down"]))
    return migrations


def statements(script: str, dialect: str) -> Iterator[Query]:
    """Splits a script into statements in the dialect."""
    text = ""
    for piece in re.split(r"(?<=;)", script):
        text += piece
        # SQLite's own scanner handles strings, comments and trigger bodies.
        if sqlite3.complete_statement(text):
            if _without_comments(text) != ";":
                yield Query("migration", _spell(text.strip().removesuffix(";"), dialect), "Part of a migration.")
            text = ""
    if _without_comments(text):
        raise Internal("migrations_broken", f"A migration ends in the middle of a statement: {text.strip()[:80]}")


def _spell(statement: str, dialect: str) -> str:
    """Gives PostgreSQL's TEXT columns SQLite's byte order."""
    if dialect != "postgres" or not _without_comments(statement).upper().startswith(("CREATE TABLE", "ALTER TABLE")):
        return statement
    return _PG_TEXT.sub(lambda match: f'{match[0]} COLLATE "C"' if match["text"] else match[0], statement)


def _without_comments(text: str) -> str:
    return TOKEN.sub(lambda match: "" if match[0].startswith(("--", "/*")) else match[0], text).strip()


async def _apply(backend: Backend, migration: Migration) -> None:
    async def work(tx: Tx) -> None:
        for query in statements(migration.up, backend.dialect):
            await tx.run(query)
        await tx.run(
            _RECORD,
            version=migration.version,
            name=migration.name,
            applied_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            checksum=migration.checksum,
        )

    await backend.transaction(work)


async def _undo(backend: Backend, migration: Migration) -> None:
    async def work(tx: Tx) -> None:
        for query in statements(migration.down, backend.dialect):
            await tx.run(query)
        await tx.run(_FORGET, version=migration.version)

    await backend.transaction(work)


@asynccontextmanager
async def _turn(backend: Backend) -> AsyncGenerator[None]:
    """Lets one process at a time check and change the schema."""
    deadline = asyncio.get_running_loop().time() + TURN_SECONDS
    async with AsyncExitStack() as stack:
        while True:
            try:
                await stack.enter_async_context(backend.own("migrations"))
                break
            except Busy:
                if asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(TURN_POLL_SECONDS)
        yield
