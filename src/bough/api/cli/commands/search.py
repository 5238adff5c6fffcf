"""`bough search`: words in all transcripts, and where they stand (A2). What is found is the server's part."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.commands.repo import Offset
from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, brief, clean, short_forms
from bough.api.cli.session.prompt import OfSession

MOST = 100
HIT = "bold yellow"


def add_to(root: typer.Typer) -> None:
    command(root, "search")(search)


def search(
    here: Here,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS...",
            help="What to look for: words, '\"a phrase\"', 'begin*'; after a -- also -without.",
        ),
    ],
    session: OfSession = None,
    repo: Annotated[
        str | None,
        typer.Option("--repo", metavar="ID", help="Only of this repository.", autocompletion=ids("repos", "path")),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only sessions with this agent.")] = None,
    role: Annotated[str | None, typer.Option("--role", metavar="ROLE", help="Only of user, agent or system.")] = None,
    of_type: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="Only such messages: text, thought, tool, …; session for titles."),
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Not older than this time.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST, help="How many at most.")] = 20,
    offset: Offset = 0,
) -> None:
    """Search all transcripts and titles; the best come first."""
    answer = here.client.get(
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
    here.show(answer, _draw)


def _draw(page: Any) -> None:
    hits: list[Json] = page["results"]
    if not hits:
        output.line("Nothing is found.", "dim")
    forms = short_forms([hit["sessionId"] for hit in hits])
    for hit in hits:
        _draw_hit(hit, forms[hit["sessionId"]])
    if page["totalCapped"]:
        output.note(f"There may be more than {page['total']}; these are the best of the newest.")
    output.more(page, len(hits))
    if page["indexing"]:
        output.note("Older transcripts are still being read; there may be more in a while.")


def _draw_hit(hit: Json, session: str) -> None:
    """Whose words they are in one line, the words themselves in the next."""
    from rich.text import Text

    about = " ".join(part for part in (hit["role"], hit["type"]) if part)
    at = f" #{hit['position']}" if hit["position"] is not None else ""
    head = Text.assemble((session, "bold"), f"  {about}{at}  ", (ago(hit["createdAt"]), "dim"))
    title = brief(clean(hit["sessionTitle"]), 60)
    output.console().print(head.append(f"  {title}" if title else ""), soft_wrap=True)
    snippet: str = hit["snippet"]
    shown = Text("  ")
    place = 0
    for low, high in hit["marks"]:
        # Cleaned piece by piece: what would steer the terminal is taken away, and the rest moves.
        shown.append(clean(snippet[place:low])).append(clean(snippet[low:high]), HIT)
        place = high
    output.console().print(shown.append(clean(snippet[place:])), soft_wrap=True)
