"""`bough approval answer`: answers an agent's question with values for its form."""

from __future__ import annotations

import getpass
import json
import sys
from typing import Annotated, Any, cast

import typer

from bough.api.cli.approvals.fill_form import CANCEL, DECLINE, BadLine, FormFill, defaults, describe_form, label, parse
from bough.api.cli.approvals.shared import ApprovalId, print_decided
from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, Response, part, parts, path


def add_answer(app: typer.Typer) -> None:
    """Adds the command to those about approvals."""
    command(app, "answer")(answer)


def answer(
    ctx: CommandContext,
    approval: ApprovalId,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            "-f",
            metavar="NAME=VALUE",
            help="Value of a field; repeat it for further fields, and for several choices of one.",
        ),
    ] = None,
    content: Annotated[
        str | None,
        typer.Option("--content", metavar="JSON", help="All values as a JSON object; - reads it from stdin."),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept with the agent's defaults, or an address that you have opened.")
    ] = False,
    decline: Annotated[bool, typer.Option("--decline", help="Decline to answer; the turn continues.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Dismiss it without an answer.")] = False,
) -> None:
    """Answer an agent's question; without options, it asks for one field after the other."""
    gives_values = bool(field) or content is not None
    if sum((gives_values or accept, decline, cancel)) > 1 or (field and content is not None):
        raise typer.BadParameter("Use one of --field, --content, --accept, --decline and --cancel.")
    if decline or cancel:
        _send(ctx, approval, {"action": "decline" if decline else "cancel"})
        return
    if content is not None:
        _send(ctx, approval, {"action": "accept", "content": _parse_content(content)})
        return
    row: Json = ctx.client.get(path("approvals", approval)).value
    form = part(row, "toolCall")
    if row["toolKind"] != "question":
        raise typer.BadParameter("This is no question; use bough approval allow or deny.")
    if gives_values or accept:
        _send(ctx, row["id"], {"action": "accept", "content": {**defaults(form), **_parse_fields(form, field or [])}})
        return
    if not output.is_interactive() or ctx.json:
        raise typer.BadParameter("Give values with --field NAME=VALUE, or use --accept, --decline or --cancel.")
    _send(ctx, row["id"], _fill(form))


def _send(ctx: CommandContext, approval_id: str, body: Json) -> None:
    ctx.show(send_answer(ctx, approval_id, body), print_decided)


def send_answer(ctx: CommandContext, approval_id: str, body: Json) -> Response:
    """Sends the answer to a question."""
    return ctx.client.post(path("approvals", approval_id), body)


def _fill(form: Json) -> Json:
    """Asks for the values at the terminal."""
    for line in describe_form(form):
        output.line(line)
    output.line(f"  ({DECLINE} and {CANCEL} end the form.)", "dim")
    filling = FormFill(form)
    while filling.body is None:
        is_secret = filling.field is not None and filling.field.get("secret")
        try:
            line = getpass.getpass(filling.prompt()) if is_secret else input(filling.prompt())
        except EOFError:
            raise typer.Abort from None
        wrong = filling.take(line)
        if wrong:
            output.line(f"  {wrong}", "yellow")
    return filling.body


def _parse_fields(form: Json, options: list[str]) -> Json:
    fields = {field["name"]: field for field in parts(form, "fields")}
    texts: dict[str, list[str]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise typer.BadParameter(f"--field takes NAME=VALUE, not {option!r}.")
        if name not in fields:
            raise typer.BadParameter(f"There is no field {name!r}. Fields: {', '.join(fields) or 'none'}.")
        texts.setdefault(name, []).append(text)
    values: Json = {}
    for name, lines in texts.items():
        try:
            values[name] = parse(fields[name], lines)
        except BadLine as error:
            raise typer.BadParameter(f"{label(fields[name])} {error}") from error
    return values


def _parse_content(text: str) -> Json:
    try:
        value: Any = json.loads(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        raise typer.BadParameter(f"--content is not valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise typer.BadParameter('--content must be a JSON object: {"name": value, …}.')
    return cast("Json", value)
