"""`bough search`: searches all transcripts and titles, and prints the results with their matches highlighted."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import ago, brief, short_forms
from bough.api.cli.framework.selectors import REPO
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import Offset
from bough.api.cli.session.prompt import OfSession

MOST = 100
HIT = "bold yellow"


def add_to(root: typer.Typer) -> None:
    command(root, "search")(search)


def search(
    ctx: CommandContext,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS...",
            help="Words, '\"a phrase\"' or 'prefix*'; after --, also -excluded words.",
        ),
    ],
    session: OfSession = None,
    repo: Annotated[
        str | None,
        REPO,
        typer.Option("--repo", "-r", metavar="REPO", help="Only sessions of this repo.", autocompletion=names("repo")),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only sessions with this agent.")] = None,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="Only messages of user, agent or system.")
    ] = None,
    of_type: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Only messages of this type: text, thought, tool, …; session searches titles.",
        ),
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only messages after this time.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST, help="Maximum number of results.")] = 20,
    offset: Offset = 0,
) -> None:
    """Search all transcripts and titles, best matches first."""
    answer = ctx.client.get(
        "/api/search",
        q=" ".join(words),
        sessionId=session,
        repoId=repo,
        agent=agent,
        role=role,
        type=of_type,
        since=since,
        limit=limit,
        offset=offset,
    )
    ctx.show(answer, _draw)


def _draw(page: Any) -> None:
    hits: list[Json] = page["results"]
    if not hits:
        output.line("No results.", "dim")
    forms = short_forms([hit["sessionId"] for hit in hits])
    for hit in hits:
        _draw_hit(hit, forms[hit["sessionId"]])
    if page["totalCapped"]:
        output.note(f"More than {page['total']} results; these are the best of the newest.")
    output.more(page, len(hits))
    if page["indexing"]:
        output.note("Older transcripts are still being indexed; search again later for more.")


def _draw_hit(hit: Json, session: str) -> None:
    """Prints a result: its session and message on one line, the snippet on the next."""
    from rich.text import Text

    about = " ".join(part for part in (hit["role"], hit["type"]) if part)
    at = f" #{hit['position']}" if hit["position"] is not None else ""
    head = Text.assemble((session, "bold"), f"  {about}{at}  ", (ago(hit["createdAt"]), "dim"))
    title = brief(clean(hit["sessionTitle"]), 60)
    output.console().print(head.append(f"  {title}" if title else ""), soft_wrap=True)
    snippet: str = hit["snippet"]
    shown = Text("  ")
    printed = 0
    for low, high in hit["marks"]:
        # Each piece is cleaned by itself, because removing control characters shifts the offsets.
        shown.append(clean(snippet[printed:low])).append(clean(snippet[low:high]), HIT)
        printed = high
    output.console().print(shown.append(clean(snippet[printed:])), soft_wrap=True)
