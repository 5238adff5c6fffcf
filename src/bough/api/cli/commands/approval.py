"""`bough approval`: the inbox of questions that turns wait on (P4), read and answered. What one is about in full is
`asked`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer

from bough.api.cli.commands import approval_details
from bough.api.cli.commands.repo import PAGE, Limit, Offset
from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Answer, Json, part, parts, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, ahead, brief, clean, moment, short, short_forms
from bough.api.cli.session.prompt import OfSession
from bough.model.rule import Scope

# Sessions that are looked through for titles; those of questions that wait are active, and few.
LOOKED_THROUGH = 4 * PAGE

app = typer.Typer(no_args_is_help=True, help="Questions of agents that wait for an answer.")
ApprovalId = Annotated[
    str,
    typer.Argument(
        metavar="APPROVAL",
        help="Its id, or 8 characters of it.",
        autocompletion=ids("approvals", "title", status="pending"),
    ),
]
REACH = {"session": "in this session", "worktree": "in this folder", "everywhere": "everywhere"}


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
        forms = short_forms([row["id"] for row in rows])
        sessions = _sessions(here, {row["sessionId"] for row in rows}, everything)
        columns: dict[str, Callable[[Json], str]] = {
            "ID": lambda row: forms[row["id"]],
            "AGENT": lambda row: _agent(row, sessions),
            "SESSION": lambda row: _title(row, sessions) or short(row["sessionId"], sessions),
            "STATUS": lambda row: row["status"],
            "ASKED": lambda row: ago(row["createdAt"]),
            "EXPIRES": _expires,
            "QUESTION": lambda row: approval_details.about(row, sessions.get(row["sessionId"], {}).get("cwd", "")),
        }
        # A line has room for what tells questions apart.
        if not everything:
            del columns["STATUS"]
        if not any(_expires(row) for row in rows):
            del columns["EXPIRES"]
        output.table(
            tuple(columns),
            [[tell(row) for tell in columns.values()] for row in rows],
            flexible="QUESTION",
            empty="Nobody waits for an answer." if not everything else "Nobody has asked anything yet.",
        )
        output.more(page, len(rows))

    here.show(answer, render)


@command(app, "show")
def show(here: Here, approval: ApprovalId) -> None:
    """Show a question with the command or the change that it is about, in full."""

    def render(found: Json) -> None:
        known = _sessions(here, {found["sessionId"]}, everything=found["status"] != "pending")
        by = part(found, "decidedBy")
        output.facts(
            [
                ("id", found["id"]),
                ("agent", _agent(found, known)),
                ("session", f"{short(found['sessionId'])} {_title(found, known, 200)}"),
                ("task", short(found["taskId"])),
                ("question", clean(found["title"])),
                ("kind", clean(found["toolKind"])),
                ("status", found["status"]),
                ("reason", clean(found["reason"] or "")),
                ("decided by", " ".join(str(part) for part in (by.get("kind"), by.get("id")) if part)),
                ("asked", f"{moment(found['createdAt'])} ({ago(found['createdAt'])})"),
                ("expires", _expires(found)),
                ("ways", _ways(found)),
            ]
        )
        output.line("")
        approval_details.draw(found)

    here.show(here.client.get(path("approvals", approval)), render)


@command(app, "allow")
def allow(
    here: Here,
    approval: ApprovalId,
    always: Annotated[bool, typer.Option("--always", help="And allow exactly this from now on.")] = False,
    scope: Annotated[
        Scope | None,
        typer.Option(
            "--scope",
            metavar="session|worktree|everywhere",
            help="How far --always reaches: this session (if not said), every session in this folder, or all.",
        ),
    ] = None,
    option: Annotated[
        str | None,
        typer.Option(
            "--option", metavar="ID", help="In which of the agent's ways; approval show lists them if several."
        ),
    ] = None,
    arguments: Annotated[
        str | None,
        typer.Option(
            "--arguments", metavar="JSON", help="With these instead of the agent's, for a call of Bough's own tools."
        ),
    ] = None,
) -> None:
    """Allow what was asked for."""
    if scope is not None and not always:
        raise typer.BadParameter("--scope says how far --always reaches; give both.")
    if option is not None and always:
        raise typer.BadParameter("--option is for this once; give either that or --always.")
    decision = {"optionId": option} if option is not None else {"decision": "allow_always" if always else "allow"}
    body: Json = decision | ({"scope": scope} if scope else {})
    if arguments is not None:
        body["arguments"] = _object(arguments)
    reach = REACH[scope] if scope else ""
    here.show(here.client.post(path("approvals", approval), body), lambda found: say_decided(found, reach))


@command(app, "deny")
def deny(
    here: Here,
    approval: ApprovalId,
    because: Annotated[str | None, typer.Option("--because", help="Why, in words for the agent.")] = None,
) -> None:
    """Refuse what was asked for; the turn goes on without it."""
    body: Json = {"decision": "deny"} | ({"because": because} if because is not None else {})
    here.show(here.client.post(path("approvals", approval), body), say_decided)


def _object(text: str) -> Json:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--arguments is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise typer.BadParameter('--arguments is an object: {"name": value, …}.')
    return cast("Json", found)


def question(approval: Json) -> str:
    """What an agent asks, in a line."""
    return f"? {brief(approval['toolKind'], 20)}: {brief(approval['title'], 500)}"


def decide(here: Here, approval_id: str, decision: str) -> Answer:
    return here.client.post(path("approvals", approval_id), {"decision": decision})


def say_decided(found: Json, reach: str = "") -> None:
    always = f" from now on {reach}".rstrip() if found["decision"] == "allow_always" else ""
    output.line(f"{short(found['id'])} is {found['status']}{always}: {brief(found['title'])}")


def _sessions(here: Here, wanted: set[str], everything: bool) -> dict[str, Json]:
    """The sessions that ask, without their transcripts; one that is too far down the list is left out."""
    found: dict[str, Json] = {}
    offset = 0
    while wanted - found.keys() and offset < LOOKED_THROUGH:
        status = None if everything else "active"
        page = here.client.get("/api/sessions", status=status, limit=PAGE, offset=offset).value
        found |= {row["id"]: row for row in page["sessions"] if row["id"] in wanted}
        offset += PAGE
        if offset >= page["total"]:
            break
    return found


def _agent(approval: Json, sessions: dict[str, Json]) -> str:
    return str(sessions.get(approval["sessionId"], {}).get("agent", ""))


def _title(approval: Json, sessions: dict[str, Json], most: int = 16) -> str:
    return brief(str(sessions.get(approval["sessionId"], {}).get("title", "")), most)


def _ways(approval: Json) -> str:
    """The agent's ways to allow it, if a person has to choose one."""
    ways = [one for one in parts(approval, "options") if one["kind"] == "allow_once"]
    told = ", ".join(f"{clean(one['optionId'])} ({brief(one['name'], 100)})" for one in ways)
    return f"{told}; choose with --option" if len(ways) > 1 and approval["status"] == "pending" else ""


def _expires(approval: Json) -> str:
    """When it is no longer asked, and what is answered then; nothing if it waits for ever."""
    if approval["status"] != "pending" or not approval["expiresAt"]:
        return ""
    return f"{ahead(approval['expiresAt'])} ({approval['onExpiry']})"
