"""What a shell is offered when an id or an agent is to be completed: asked of the server, in silence if there is none.
The scripts that ask are `bough completion`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import typer

from bough.api.cli.framework.client import Client, Json
from bough.api.cli.framework.formats import brief, short_forms
from bough.api.cli.framework.target import Place
from bough.errors import BoughError

# More than this nobody reads behind a prompt.
OFFERED = 50
Completer = Callable[[typer.Context, str], list[tuple[str, str]]]


def ids(path: str, label: str | Callable[[Json], str], **query: Any) -> Completer:
    """Completes the ids of a kind of record, each with its label; the path ends with their noun."""

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        rows = _ask(ctx, f"/api/{path}", path.rpartition("/")[2], **query)
        short = short_forms([row["id"] for row in rows])
        labels = [label(row) if callable(label) else str(row[label]) for row in rows]
        offered = [(short[row["id"]], brief(said, 60)) for row, said in zip(rows, labels, strict=True)]
        return [one for one in offered if one[0].startswith(incomplete)]

    return complete


def agents(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Completes the names of agents."""
    rows = _ask(ctx, "/api/agents", "agents")
    return [(row["name"], brief(row["title"], 60)) for row in rows if row["name"].startswith(incomplete)]


def mcp_servers(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Completes the names of MCP servers."""
    rows = _ask(ctx, "/api/mcp-servers", "mcpServers")
    return [(row["name"], row["transport"]) for row in rows if row["name"].startswith(incomplete)]


def _ask(ctx: typer.Context, path: str, noun: str, **query: Any) -> list[dict[str, Any]]:
    given = {**ctx.find_root().params, **{name: value for name, value in ctx.params.items() if value}}
    client = Client(Place(given.get("data"), given.get("url"), given.get("token")))
    limit = {} if noun == "agents" else {"limit": OFFERED}
    with contextlib.suppress(BoughError, typer.BadParameter):
        return client.get(path, **limit, **query).value[noun]
    return []
