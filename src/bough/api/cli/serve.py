"""`bough serve`: settings from flags, variables and file, then the server itself."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from bough import settings as settings_module


def serve(
    host: Annotated[str | None, typer.Option()] = None,
    port: Annotated[int | None, typer.Option()] = None,
    data: Annotated[str | None, typer.Option()] = None,
    database: Annotated[str | None, typer.Option()] = None,
    workspace_root: Annotated[str | None, typer.Option()] = None,
) -> None:
    """Run the server."""
    import uvloop

    from bough.api.serve import serve as run
    from bough.observe import logging

    flags = {"host": host, "port": port, "data": data, "database": database, "workspace_root": workspace_root}
    settings = settings_module.load(flags)
    logging.configure(settings.log_level, settings.log_format)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, running, lambda _url, link: print(link, flush=True)))
