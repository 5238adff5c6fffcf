"""Opens the backend for a database URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from bough.errors import Invalid
from bough.storage.backend import Backend
from bough.storage.sqlite import SqliteBackend
from bough.storage.sqlite_tx import Synchronous


async def open_backend(url: str, *, synchronous: Synchronous = "NORMAL") -> Backend:
    """Opens `sqlite:///abs/path`, a plain path, or `postgresql://…`.

    `synchronous` is SQLite's: NORMAL survives the death of any process, FULL also a power failure."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return await SqliteBackend.open(Path(url), synchronous=synchronous)
    if scheme == "sqlite" and rest.startswith("/"):
        return await SqliteBackend.open(Path(unquote(rest)), synchronous=synchronous)
    if scheme in ("postgresql", "postgres"):
        # Imported here because most installations never need asyncpg's memory.
        from bough.storage.postgres import PostgresBackend

        return await PostgresBackend.open(url)
    raise Invalid("database_url", "Give the database as sqlite:///absolute/path, a plain path, or postgresql://…")
