"""`bough approval`: lists, shows, allows, denies and answers the approvals that turns wait for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer

from bough.api.cli.approvals import details as approval_details
from bough.api.cli.approvals.answer import add_answer
from bough.api.cli.approvals.shared import ApprovalId, print_decided
from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, part, parts, path
from bough.api.cli.framework.formats import ago, ahead, brief, moment, short, short_forms
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import PAGE, Limit, Offset
from bough.api.cli.session.prompt import OfSession
from bough.model.rule import Scope

# Sessions searched for titles; those with pending approvals are active, and few.
LOOKED_THROUGH = 4 * PAGE

app = typer.Typer(no_args_is_help=True, help="Approvals: agents' requests that need your answer.")
REACH = {"session": "in this session", "worktree": "in this folder", "everywhere": "everywhere"}


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="approval")


@command(app, "list")
def list_approvals(
    ctx: CommandContext,
    session: OfSession = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Include answered approvals.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List pending approvals, oldest first."""
    status = None if everything else "pending"
    answer = ctx.client.get("/api/approvals", status=status, sessionId=session, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["approvals"]
        forms = short_forms([row["id"] for row in rows])
        sessions = _sessions(ctx, {row["sessionId"] for row in rows}, everything)
        columns: dict[str, Callable[[Json], str]] = {
            "ID": lambda row: forms[row["id"]],
            "AGENT": lambda row: _agent(row, sessions),
            "SESSION": lambda row: _title(row, sessions) or short(row["sessionId"], sessions),
            "STATUS": lambda row: row["status"],
            "ASKED": lambda row: ago(row["createdAt"]),
            "EXPIRES": _expires,
            "QUESTION": lambda row: approval_details.about(row, sessions.get(row["sessionId"], {}).get("cwd", "")),
        }
        # Columns that would be the same in every row are omitted.
        if not everything:
            del columns["STATUS"]
        if not any(_expires(row) for row in rows):
            del columns["EXPIRES"]
        output.table(
            tuple(columns),
            [[cell(row) for cell in columns.values()] for row in rows],
            flexible="QUESTION",
            empty="No pending approvals." if not everything else "No approvals yet.",
        )
        output.more(page, len(rows))

    ctx.show(answer, render)


@command(app, "show")
def show(ctx: CommandContext, approval: ApprovalId) -> None:
    """Show an approval with its full command, file changes or form."""

    def render(row: Json) -> None:
        sessions = _sessions(ctx, {row["sessionId"]}, everything=row["status"] != "pending")
        decider = part(row, "decidedBy")
        output.facts(
            [
                ("id", row["id"]),
                ("agent", _agent(row, sessions)),
                ("session", f"{short(row['sessionId'])} {_title(row, sessions, 200)}"),
                ("task", short(row["taskId"])),
                ("question", clean(row["title"])),
                ("kind", clean(row["toolKind"])),
                ("status", row["status"]),
                ("reason", clean(row["reason"] or "")),
                ("decided by", " ".join(str(part) for part in (decider.get("kind"), decider.get("id")) if part)),
                ("asked", f"{moment(row['createdAt'])} ({ago(row['createdAt'])})"),
                ("expires", _expires(row)),
                ("options", _options(row)),
            ]
        )
        output.line("")
        approval_details.draw(row)

    ctx.show(ctx.client.get(path("approvals", approval)), render)


@command(app, "allow")
def allow(
    ctx: CommandContext,
    approval: ApprovalId,
    always: Annotated[bool, typer.Option("--always", help="Also allow exactly this from now on.")] = False,
    scope: Annotated[
        Scope | None,
        typer.Option(
            "--scope",
            metavar="session|worktree|everywhere",
            help="Scope of --always: this session (the default), all sessions in this folder, or all sessions.",
        ),
    ] = None,
    option: Annotated[
        str | None,
        typer.Option("--option", metavar="ID", help="Option of the agent to use; bough approval show lists them."),
    ] = None,
    arguments: Annotated[
        str | None,
        typer.Option(
            "--arguments", metavar="JSON", help="Replace the agent's arguments, for a call of Bough's own tools."
        ),
    ] = None,
) -> None:
    """Allow a request."""
    if scope is not None and not always:
        raise typer.BadParameter("--scope needs --always.")
    if option is not None and always:
        raise typer.BadParameter("--option applies only once and cannot be combined with --always.")
    decision = {"optionId": option} if option is not None else {"decision": "allow_always" if always else "allow"}
    body: Json = decision | ({"scope": scope} if scope else {})
    if arguments is not None:
        body["arguments"] = _parse_object(arguments)
    reach = REACH[scope] if scope else ""
    ctx.show(ctx.client.post(path("approvals", approval), body), lambda decided: print_decided(decided, reach))


@command(app, "deny")
def deny(
    ctx: CommandContext,
    approval: ApprovalId,
    because: Annotated[str | None, typer.Option("--because", help="Reason, for the agent.")] = None,
) -> None:
    """Deny a request; the turn continues without it."""
    body: Json = {"decision": "deny"} | ({"because": because} if because is not None else {})
    ctx.show(ctx.client.post(path("approvals", approval), body), print_decided)


add_answer(app)


def _parse_object(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--arguments is not valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise typer.BadParameter('--arguments must be a JSON object: {"name": value, …}.')
    return cast("Json", value)


def question(approval: Json) -> str:
    """Describes an agent's request on one line."""
    return f"? {brief(approval['toolKind'], 20)}: {brief(approval['title'], 500)}"


def _sessions(ctx: CommandContext, session_ids: set[str], everything: bool) -> dict[str, Json]:
    """Returns the sessions with these ids, without transcripts; those too far down the list are missing."""
    sessions: dict[str, Json] = {}
    offset = 0
    while session_ids - sessions.keys() and offset < LOOKED_THROUGH:
        status = None if everything else "active"
        page = ctx.client.get("/api/sessions", status=status, limit=PAGE, offset=offset).value
        sessions |= {row["id"]: row for row in page["sessions"] if row["id"] in session_ids}
        offset += PAGE
        if offset >= page["total"]:
            break
    return sessions


def _agent(approval: Json, sessions: dict[str, Json]) -> str:
    return str(sessions.get(approval["sessionId"], {}).get("agent", ""))


def _title(approval: Json, sessions: dict[str, Json], most: int = 16) -> str:
    return brief(str(sessions.get(approval["sessionId"], {}).get("title", "")), most)


def _options(approval: Json) -> str:
    """Describes the agent's options for allowing it, if there are several to choose from."""
    options = [option for option in parts(approval, "options") if option["kind"] == "allow_once"]
    text = ", ".join(f"{clean(option['optionId'])} ({brief(option['name'], 100)})" for option in options)
    return f"{text}; choose with --option" if len(options) > 1 and approval["status"] == "pending" else ""


def _expires(approval: Json) -> str:
    """Describes when it expires and the answer it then gets; empty if it never expires."""
    if approval["status"] != "pending" or not approval["expiresAt"]:
        return ""
    return f"{ahead(approval['expiresAt'])} ({approval['onExpiry']})"
