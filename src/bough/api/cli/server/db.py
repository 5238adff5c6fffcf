"""`bough db`: shows, upgrades, downgrades and copies the database, and shortens the audit trail, without a server."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.errors import Busy, Invalid, NotFound

if TYPE_CHECKING:
    from bough.storage.backend import Backend

app = typer.Typer(no_args_is_help=True, help="Inspect and migrate the database. Changes need the server to be stopped.")
COMMON = ("data", "json")
Database = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="SQLite path or postgresql:// URL (BOUGH_DATABASE).")
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="db")


@command(app, "status", common=COMMON)
def status(ctx: CommandContext, database: Database = None) -> None:
    """Show the schema version and pending migrations."""
    schema = _work(ctx, database, _status, alone=False)
    if ctx.json:
        output.document(schema)
        return
    output.facts([("database", schema["database"]), ("schema", str(schema["version"]))])
    pending = ", ".join(f"{migration['version']} {migration['name']}" for migration in schema["pending"])
    output.line(f"Pending: {pending}. Run: bough db upgrade" if pending else "No migrations are pending.")


@command(app, "upgrade", common=COMMON)
def upgrade(ctx: CommandContext, database: Database = None) -> None:
    """Apply pending migrations. A SQLite file is copied first. The server does the same when it starts."""

    async def work(db: Backend) -> dict[str, Any]:
        from bough.storage import migrate

        applied = await migrate.upgrade(db)
        return {"applied": applied, "version": (await migrate.status(db)).version}

    result = _work(ctx, database, work, new=True)
    text = (
        f"Upgraded to schema {result['version']}."
        if result["applied"]
        else f"Schema {result['version']} is up to date."
    )
    output.document(result) if ctx.json else output.line(text)


@command(app, "downgrade", common=COMMON)
def downgrade(
    ctx: CommandContext,
    to: Annotated[
        int, typer.Option("--to", metavar="N", min=0, help="Schema version to go back to; 0 is an empty database.")
    ],
    database: Database = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Undo the newest migrations, losing the data that only they can store. A SQLite file is copied first."""
    if not yes:
        typer.confirm(
            f"Undo all migrations after schema {to} and lose the data that only they can store?", abort=True, err=True
        )

    async def work(db: Backend) -> dict[str, Any]:
        from bough.storage import migrate

        return {"undone": await migrate.downgrade(db, to), "version": (await migrate.status(db)).version}

    result = _work(ctx, database, work)
    text = f"The database is at schema {result['version']}."
    output.document(result) if ctx.json else output.line(text)


@command(app, "copy", common=COMMON)
def copy(ctx: CommandContext, database: Database = None) -> None:
    """Copy a SQLite database next to itself and print the path."""

    async def work(db: Backend) -> dict[str, Any]:
        copy_path = await db.keep_copy("copy")
        if copy_path is None:
            raise Invalid("no_copy", "Bough cannot copy a PostgreSQL database; use pg_dump.")
        return {"path": str(copy_path)}

    result = _work(ctx, database, work)
    output.document(result) if ctx.json else output.line(result["path"])


@command(app, "prune-audit", common=COMMON)
def prune_audit(
    ctx: CommandContext,
    before: Annotated[str, typer.Option("--before", metavar="TIME", help="Remove entries before this date or time.")],
    database: Database = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Remove old entries of the audit trail, which records that. Export them first: bough audit --export"""
    if not yes:
        typer.confirm(f"Remove all audit entries before {before}?", abort=True, err=True)

    async def work(db: Backend) -> dict[str, Any]:
        from bough.core.access import audit
        from bough.core.store.transactions import Store
        from bough.storage import migrate

        if (await migrate.status(db)).pending:
            raise Invalid("schema_version", "The database is from an older Bough. Run: bough db upgrade")
        return {"removed": await audit.prune(Store(db), before)}

    result = _work(ctx, database, work)
    count = result["removed"]
    text = f"Removed {count} {'entry' if count == 1 else 'entries'} of the audit trail."
    output.document(result) if ctx.json else output.line(text)


def database_file(url: str) -> Path | None:
    """Returns the file of a SQLite database, or None for PostgreSQL."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return Path(url)
    return Path(unquote(rest)) if scheme == "sqlite" else None


def without_password(url: str) -> str:
    """Returns a database URL without its password."""
    hidden = re.sub(r"(?<=://)([^:@/]*):[^/?#]*@", r"\1:***@", url)
    return re.sub(r"(?<=[?&]password=)[^&#]*", "***", hidden)


async def _status(db: Backend) -> dict[str, Any]:
    from bough.storage import migrate

    schema = await migrate.status(db)
    return {
        "version": schema.version,
        "applied": [
            {"version": migration.version, "name": migration.name, "appliedAt": migration.applied_at}
            for migration in schema.applied
        ],
        "pending": [{"version": migration.version, "name": migration.name} for migration in schema.pending],
    }


@contextlib.asynccontextmanager
async def _server_lock(db: Backend, url: str) -> AsyncGenerator[None]:
    """Holds the lock of the server that uses the database, which may run on another data folder or machine."""
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(db.own("server"))
        except Busy as error:
            if error.code != "database_in_use":
                raise
            holder = f" (process {error.details['holder']})" if "holder" in error.details else ""
            raise Busy(
                "database_in_use",
                f"A Bough server{holder} is using the database {without_password(url)}. Stop it and try again.",
                **error.details,
            ) from error
        yield


def _work(
    ctx: CommandContext,
    database: str | None,
    work: Callable[[Backend], Awaitable[dict[str, Any]]],
    *,
    new: bool = False,
    alone: bool = True,
) -> dict[str, Any]:
    """Runs `work` on the database: with `alone`, only while no server uses it; unless `new`, it must exist."""
    from bough.data_folder_lock import only_one
    from bough.load_settings import load
    from bough.storage.open import open_backend

    configured = load({"data": ctx.target.data, "database": database})
    if new:
        configured.data_path.mkdir(parents=True, exist_ok=True, mode=0o700)
    elif not configured.data_path.is_dir():
        raise NotFound("no_data_folder", f"There is no data folder {configured.data_path}. Choose another with --data.")
    file = database_file(configured.database_url)
    if file is not None and not new and not file.exists():
        raise NotFound("no_database", f"There is no database {file} yet. Create it: bough db upgrade")

    async def run() -> dict[str, Any]:
        db = await open_backend(configured.database_url)
        try:
            async with _server_lock(db, configured.database_url) if alone else contextlib.nullcontext():
                return {"database": without_password(configured.database_url)} | await work(db)
        finally:
            await db.close()

    with only_one(configured.data_path) if alone else contextlib.nullcontext():
        return asyncio.run(run())
