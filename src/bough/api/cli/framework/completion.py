"""Completes ids and names in the shell by asking the server; offers nothing if no server answers."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import quote

import typer

from bough.api.cli.framework.client import Client, Json
from bough.api.cli.framework.find_server import ServerTarget
from bough.api.cli.framework.formats import brief, short_forms
from bough.api.cli.framework.selectors import LAST
from bough.errors import BoughError

# Nobody reads more than this in a shell.
OFFERED = 50
LABELS = {"session": "title", "worktree": "path", "repo": "path", "race": "prompt"}
# The fields by which a record can be named, beside its id.
SPOKEN: dict[str, tuple[str, ...]] = {
    "session": ("title",),
    "worktree": ("branch",),
    "repo": ("name",),
    "race": (),
}
_PLAIN = re.compile(r"[\w][\w./+-]*", re.ASCII)
Completer = Callable[[typer.Context, str], list[tuple[str, str]]]


def ids(path: str, label: str | Callable[[Json], str], **query: Any) -> Completer:
    """Returns a completer for the ids of one kind of record, each with its label; the path ends with the noun."""

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        rows = _ask(ctx, f"/api/{path}", path.rpartition("/")[2], **query)
        short = short_forms([row["id"] for row in rows])
        labels = [label(row) if callable(label) else str(row[label]) for row in rows]
        offered = [(short[row["id"]], brief(text, 60)) for row, text in zip(rows, labels, strict=True)]
        return [item for item in offered if item[0].startswith(incomplete)]

    return complete


def names(kind: Literal["session", "worktree", "repo", "race"], *, last: bool = True, **query: Any) -> Completer:
    """Returns a completer for what `selectors` finds: ids, `@last` if it works there, and titles, names and branches
    that need no quotes in a shell."""
    noun = f"{kind}s"

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        rows = _ask(ctx, f"/api/{noun}", noun, **query)
        key = "raceId" if kind == "race" else "id"
        short = short_forms([row[key] for row in rows])
        labels = {row[key]: brief(str(row[LABELS[kind]]), 60) for row in rows}
        offered = [(short[row[key]], labels[row[key]]) for row in rows]
        offered += [(LAST, f"the newest {kind}")] if rows and last else []
        spoken = [
            (str(row[field]), short[row[key]])
            for row in rows
            for field in SPOKEN[kind]
            if row[field] and _PLAIN.fullmatch(str(row[field]))
        ]
        # A name that several records have finds none of them.
        counts = Counter(name for name, _ in spoken)
        offered += [(name, about) for name, about in spoken if counts[name] == 1]
        return [item for item in offered if item[0].startswith(incomplete)]

    return complete


def session_option(help: str) -> Any:
    """Returns the option `--session`, completed in the shell. The parameter is also marked with `SESSION`."""
    return typer.Option("--session", "-s", metavar="SESSION", help=help, autocompletion=names("session"))


def agents(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Completes the names of agents."""
    rows = _ask(ctx, "/api/agents", "agents")
    return [(row["name"], brief(row["title"], 60)) for row in rows if row["name"].startswith(incomplete)]


def _offered_values(field: Literal["models", "efforts"]) -> Completer:
    """Returns a completer for the models or efforts of the agent that the command names, of its session's agent, or of
    the default agent."""

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        agent = ctx.params.get("agent")
        session = ctx.params.get("session") or ctx.params.get("session_id")
        if not agent and session:
            agent = _fetch(ctx, f"/api/sessions/{quote(str(session), safe='')}").get("agent")
        if not agent:
            rows = _ask(ctx, "/api/agents", "agents")
            agent = next((row["name"] for row in rows if row["isDefault"]), None)
        if not agent:
            return []
        rows = _fetch(ctx, f"/api/agents/{quote(str(agent), safe='')}/offer").get(field, [])
        return [(row["value"], brief(row["name"], 60)) for row in rows if row["value"].startswith(incomplete)]

    return complete


models = _offered_values("models")
efforts = _offered_values("efforts")


def mcp_servers(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Completes the names of MCP servers."""
    rows = _ask(ctx, "/api/mcp-servers", "mcpServers")
    return [(row["name"], row["transport"]) for row in rows if row["name"].startswith(incomplete)]


def presets(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Completes the names of presets."""
    rows = _ask(ctx, "/api/presets", "presets")
    return [
        (row["name"], brief(row["description"] or row["agent"], 60))
        for row in rows
        if row["name"].startswith(incomplete)
    ]


def saved_prompts(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Completes the names of saved prompts."""
    rows = _ask(ctx, "/api/saved-prompts", "savedPrompts")
    return [(row["name"], brief(row["text"], 60)) for row in rows if row["name"].startswith(incomplete)]


def users(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Completes the names of users."""
    rows = _ask(ctx, "/api/users", "users")
    return [(row["name"], row["role"]) for row in rows if row["name"].startswith(incomplete)]


def roles(incomplete: str) -> list[tuple[str, str]]:
    """Completes roles."""
    known = {"viewer": "reads", "operator": "prompts and decides", "admin": "changes rights"}
    return [(role, about) for role, about in known.items() if role.startswith(incomplete)]


def _fetch(ctx: typer.Context, path: str) -> Json:
    with contextlib.suppress(BoughError, typer.BadParameter):
        return _client(ctx).get(path).value
    return {}


def _client(ctx: typer.Context) -> Client:
    options = {**ctx.find_root().params, **{name: value for name, value in ctx.params.items() if value}}
    return Client(ServerTarget(options.get("data"), options.get("url"), options.get("token")))


def _ask(ctx: typer.Context, path: str, noun: str, **query: Any) -> list[dict[str, Any]]:
    limit = {} if noun in ("agents", "clones", "savedPrompts") else {"limit": OFFERED}
    with contextlib.suppress(BoughError, typer.BadParameter):
        return _client(ctx).get(path, **limit, **query).value[noun]
    return []
