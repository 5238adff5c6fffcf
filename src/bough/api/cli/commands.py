"""All commands of `bough` put together."""

from __future__ import annotations

import typer

from bough.api.cli import serve

app = typer.Typer(no_args_is_help=True)
app.command("serve")(serve.serve)


@app.command("x")
def x() -> None: ...
def run(running) -> int:
    serve.running = running
    app()
    return 0
