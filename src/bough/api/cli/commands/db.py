"""`bough db`: looks at the database and moves its schema up and down (R6), without a server. What a migration does is
`bough.storage.migrate`."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.errors import Invalid, NotFound

if TYPE_CHECKING:
    from bough.storage.backend import Backend

app = typer.Typer(no_args_is_help=True, help="The database itself; it is changed only while no server runs on it.")
COMMON = ("data", "json")
Database = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="A SQLite path or a postgresql:// URL (BOUGH_DATABASE).")
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="db")


@command(app, "status", common=COMMON)
def status(here: Here, database: Database = None) -> None:
    """Show the version of the schema, and which migrations are pending."""
    found = _work(here, database, _status, alone=False)
    if here.json:
        output.document(found)
        return
    output.facts([("database", found["database"]), ("schema", str(found["version"]))])
    pending = ", ".join(f"{one['version']} {one['name']}" for one in found["pending"])
    output.line(f"Pending: {pending}. Run: bough db upgrade" if pending else "Nothing is pending.")


@command(app, "upgrade", common=COMMON)
def upgrade(here: Here, database: Database = None) -> None:
    """Apply what is pending; an older SQLite file is copied first. A server does the same when it starts."""

    async def work(db: Backend) -> dict[str, Any]:
        from bough.storage import migrate

        done = await migrate.upgrade(db)
        return {"applied": done, "version": (await migrate.status(db)).version}

    found = _work(here, database, work, new=True)
    said = (
        f"Upgraded to schema {found['version']}." if found["applied"] else f"Schema {found['version']} is the newest."
    )
    output.document(found) if here.json else output.line(said)


@command(app, "downgrade", common=COMMON)
def downgrade(
    here: Here,
    to: Annotated[int, typer.Option("--to", metavar="N", min=0, help="The schema to go back to; 0 is empty.")],
    database: Database = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Undo the newest migrations; what only they can hold is lost, and a SQLite file is copied first."""
    if not yes:
        typer.confirm(f"Undo everything after schema {to}, and lose what only it can hold?", abort=True, err=True)

    async def work(db: Backend) -> dict[str, Any]:
        from bough.storage import migrate

        return {"undone": await migrate.downgrade(db, to), "version": (await migrate.status(db)).version}

    found = _work(here, database, work)
    said = f"The database is at schema {found['version']}."
    output.document(found) if here.json else output.line(said)


@command(app, "copy", common=COMMON)
def copy(here: Here, database: Database = None) -> None:
    """Copy a SQLite database beside itself, and say where."""

    async def work(db: Backend) -> dict[str, Any]:
        made = await db.keep_copy("copy")
        if made is None:
            raise Invalid("no_copy", "PostgreSQL is not copied by Bough; use pg_dump.")
        return {"path": str(made)}

    found = _work(here, database, work)
    output.document(found) if here.json else output.line(found["path"])


def database_file(url: str) -> Path | None:
    """The file of a SQLite database; None for PostgreSQL."""
    scheme, found, rest = url.partition("://")
    if not found:
        return Path(url)
    return Path(unquote(rest)) if scheme == "sqlite" else None


def shown(url: str) -> str:
    """A database's address without its password."""
    return re.sub(r"(?<=://)([^:@/]*):[^@/]*@", r"\1:***@", url)


async def _status(db: Backend) -> dict[str, Any]:
    from bough.storage import migrate

    found = await migrate.status(db)
    return {
        "version": found.version,
        "applied": [{"version": one.version, "name": one.name, "appliedAt": one.applied_at} for one in found.applied],
        "pending": [{"version": one.version, "name": one.name} for one in found.pending],
    }


def _work(
    here: Here,
    database: str | None,
    work: Callable[[Backend], Awaitable[dict[str, Any]]],
    *,
    new: bool = False,
    alone: bool = True,
) -> dict[str, Any]:
    """Does something to the database, if `alone` while nobody else can; unless `new`, it has to be there."""
    from bough import settings
    from bough.datafolder import only_one
    from bough.storage.open import open_backend

    chosen = settings.load({"data": here.place.data, "database": database})
    if new:
        chosen.data_path.mkdir(parents=True, exist_ok=True, mode=0o700)
    elif not chosen.data_path.is_dir():
        raise NotFound("no_data_folder", f"There is no data folder {chosen.data_path}.")
    file = database_file(chosen.database_url)
    if file is not None and not new and not file.exists():
        raise NotFound("no_database", f"There is no database {file} yet. Make one with: bough db upgrade")

    async def run() -> dict[str, Any]:
        db = await open_backend(chosen.database_url)
        try:
            return {"database": shown(chosen.database_url)} | await work(db)
        finally:
            await db.close()

    with only_one(chosen.data_path) if alone else contextlib.nullcontext():
        return asyncio.run(run())
