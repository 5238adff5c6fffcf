"""`bough approval`: the inbox of questions that turns wait on (P4), read and answered."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from bough.api.cli import out
from bough.api.cli.base import Here, command
from bough.api.cli.client import Answer, Json, part, path
from bough.api.cli.completing import ids
from bough.api.cli.prompting import OfSession
from bough.api.cli.repos import Limit, Offset
from bough.api.cli.words import ago, brief, clean, moment, short, short_forms

app = typer.Typer(no_args_is_help=True, help="Questions of agents that wait for an answer.")
ApprovalId = Annotated[
    str,
    typer.Argument(
        metavar="APPROVAL",
        help="Its id, or 8 characters of it.",
        autocompletion=ids("approvals", "title", status="pending"),
    ),
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="approval")


@command(app, "list")
def list_approvals(
    here: Here,
    session: OfSession = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Those that were answered too.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List the questions that wait, oldest first."""
    status = None if everything else "pending"
    answer = here.client.get("/api/approvals", status=status, sessionId=session, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["approvals"]
        ids = short_forms([row["id"] for row in rows])
        sessions = short_forms([row["sessionId"] for row in rows])
        out.table(
            ("ID", "SESSION", "STATUS", "KIND", "ASKED", "QUESTION"),
            [
                (
                    ids[row["id"]],
                    sessions[row["sessionId"]],
                    row["status"],
                    brief(row["toolKind"], 20),
                    ago(row["createdAt"]),
                    brief(row["title"], 200),
                )
                for row in rows
            ],
            flexible="QUESTION",
            empty="Nobody waits for an answer." if not everything else "Nobody has asked anything yet.",
        )
        out.more(page, len(rows))

    here.show(answer, render)


@command(app, "show")
def show(here: Here, approval: ApprovalId) -> None:
    """Show a question with the tool call that it is about."""

    def render(found: Json) -> None:
        by = part(found, "decidedBy")
        out.facts(
            [
                ("id", found["id"]),
                ("session", short(found["sessionId"])),
                ("task", short(found["taskId"])),
                ("question", clean(found["title"])),
                ("kind", clean(found["toolKind"])),
                ("status", found["status"]),
                ("decided by", " ".join(str(part) for part in (by.get("kind"), by.get("id")) if part)),
                ("asked", f"{moment(found['createdAt'])} ({ago(found['createdAt'])})"),
            ]
        )
        out.line("")
        out.line(clean(json.dumps(found["toolCall"], indent=2, ensure_ascii=False)), "dim")

    here.show(here.client.get(path("approvals", approval)), render)


@command(app, "allow")
def allow(
    here: Here,
    approval: ApprovalId,
    always: Annotated[
        bool, typer.Option("--always", help="And allow exactly this in this session from now on.")
    ] = False,
) -> None:
    """Allow what was asked for."""
    here.show(decide(here, approval, "allow_always" if always else "allow"), say_decided)


@command(app, "deny")
def deny(here: Here, approval: ApprovalId) -> None:
    """Refuse what was asked for; the turn goes on without it."""
    here.show(decide(here, approval, "deny"), say_decided)


def question(approval: Json) -> str:
    """What an agent asks, in a line."""
    return f"? {brief(approval['toolKind'], 20)}: {brief(approval['title'], 500)}"


def decide(here: Here, approval_id: str, decision: str) -> Answer:
    return here.client.post(path("approvals", approval_id), {"decision": decision})


def say_decided(found: Json) -> None:
    always = " from now on" if found["decision"] == "allow_always" else ""
    out.line(f"{short(found['id'])} is {found['status']}{always}: {brief(found['title'])}")
