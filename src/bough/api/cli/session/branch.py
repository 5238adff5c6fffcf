"""`bough session fork|spawn|btw|callbacks|budget`: branches sessions, lists the reports of children, and shows or sets
a tree's budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli.commands.mcp import Mcp, NoMcp, resolve_mcp_option
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, CommandContext, command
from bough.api.cli.framework.client import ANSWER_WITHIN, SETUP_WITHIN, Json, path
from bough.api.cli.framework.completion import agents, ids
from bough.api.cli.framework.formats import ago, amount, brief, short, shorten
from bough.api.cli.repos.repo import Limit, Offset
from bough.api.cli.session.manage import app
from bough.api.cli.session.options import (
    Description,
    Effort,
    Env,
    Files,
    Headless,
    Mode,
    Model,
    Preset,
    Timeout,
    Title,
    encode_files,
    parse_minutes,
    parse_pairs,
)
from bough.api.cli.session.prompt import Follow, SessionId, follow_session, read_text

Prompt = Annotated[str, typer.Argument(metavar="PROMPT|-", help="The prompt; - reads it from standard input.")]
Agent = Annotated[
    str | None,
    typer.Option("--agent", "-a", help="Use another agent; see bough agents.", autocompletion=agents),
]
Worktree = Annotated[
    str | None,
    typer.Option(
        "--worktree", "-w", metavar="new|BRANCH", help="Work in a new worktree that starts with the current files."
    ),
]


def add_to(_root: typer.Typer) -> None:
    """Does nothing: these commands belong to `bough session`."""


@command(app, "fork")
def fork(
    ctx: CommandContext,
    session: SessionId,
    text: Annotated[
        str | None, typer.Argument(metavar="PROMPT|-", help="First prompt; - reads it from standard input.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="TASK",
            help="Fork after this task instead of the last one.",
            autocompletion=ids("tasks", "prompt"),
        ),
    ] = None,
    title: Title = None,
    description: Description = None,
    preset: Preset = None,
    agent: Agent = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    worktree: Worktree = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    env: Env = None,
    headless: Headless = None,
    timeout: Timeout = None,
    file: Files = None,
    follow: Follow = False,
) -> int:
    """Fork a session: the fork starts with a copy of the conversation so far."""
    body = _body(ctx, text, title, description, preset, agent, model, effort, mcp, no_mcp, env, file)
    body |= {"taskId": task, "permissionMode": mode, "worktree": _worktree(worktree), "headless": _headless(headless)}
    body["approvalTimeout"] = parse_minutes(timeout)
    return _branch(ctx, session, "fork", body, follow)


@command(app, "spawn")
def spawn(
    ctx: CommandContext,
    session: SessionId,
    text: Prompt,
    title: Title = None,
    description: Description = None,
    preset: Preset = None,
    agent: Agent = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    worktree: Worktree = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    env: Env = None,
    headless: Headless = None,
    timeout: Timeout = None,
    no_callback: Annotated[bool, typer.Option("--no-callback", help="Do not report back to the parent.")] = False,
    no_last: Annotated[bool, typer.Option("--no-last-message", help="Report without the last message.")] = False,
    with_prompt: Annotated[bool, typer.Option("--with-prompt", help="Include the prompt in the report.")] = False,
    instructions: Annotated[
        str | None, typer.Option("--instructions", help="The form of its report; the child learns it.")
    ] = None,
    file: Files = None,
    follow: Follow = False,
) -> int:
    """Spawn a child that starts with no context and reports back after each task."""
    body = _body(ctx, text, title, description, preset, agent, model, effort, mcp, no_mcp, env, file)
    body |= {"permissionMode": mode, "worktree": _worktree(worktree), "headless": _headless(headless)}
    body["approvalTimeout"] = parse_minutes(timeout)
    if no_callback or no_last or with_prompt or instructions is not None:
        body["callback"] = {
            "enabled": not no_callback,
            "includeLastMessage": not no_last,
            "includeOriginalPrompt": with_prompt,
            "extraInstructions": instructions,
        }
    return _branch(ctx, session, "spawn", body, follow)


@command(app, "btw")
def btw(
    ctx: CommandContext,
    session: SessionId,
    text: Prompt,
    title: Title = None,
    preset: Preset = None,
    agent: Agent = None,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    env: Env = None,
    file: Files = None,
    follow: Follow = False,
) -> int:
    """Ask a side question. It does not disturb the session's work and changes nothing."""
    body = _body(ctx, text, title, None, preset, agent, model, effort, mcp, no_mcp, env, file)
    return _branch(ctx, session, "btw", body, follow)


@command(app, "callbacks")
def callbacks(
    ctx: CommandContext,
    session: SessionId,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help="Only reports in this state: queued, delivered or held."),
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List the reports that a session sent and received, newest first."""
    answer = ctx.client.get(path("sessions", session, "callbacks"), state=state, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["callbacks"]
        output.table(
            ("FROM", "TO", "STATE", "CREATED", "REPORT"),
            [
                (
                    short(row["childSessionId"]),
                    short(row["parentSessionId"]),
                    row["state"],
                    ago(row["createdAt"]),
                    brief(f"{row['reason']} {row['text']}" if row["reason"] else row["text"], 400),
                )
                for row in rows
            ],
            flexible="REPORT",
            empty="No reports.",
        )
        output.more(page, len(rows))

    ctx.show(answer, render)


@command(app, "budget")
def budget(
    ctx: CommandContext,
    session: SessionId,
    tokens: Annotated[int | None, typer.Option("--tokens", metavar="N", min=1, help="Maximum tokens.")] = None,
    cost: Annotated[
        float | None, typer.Option("--cost", metavar="X", help="Maximum cost, as reported by the agents.")
    ] = None,
    turns: Annotated[int | None, typer.Option("--turns", metavar="N", min=1, help="Maximum turns.")] = None,
    minutes: Annotated[float | None, typer.Option("--minutes", metavar="N", help="Maximum agent minutes.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove all limits.")] = False,
) -> None:
    """Show the budget of a session's tree, or set it. Limits count from now; an omitted limit is removed."""
    limits = {"maxTokens": tokens, "maxCost": cost, "maxTurns": turns, "maxMinutes": minutes}
    body = {name: value for name, value in limits.items() if value is not None}
    if none and body:
        raise typer.BadParameter("--none cannot be combined with a limit.")
    address = path("sessions", session, "budget")
    answer = ctx.client.call("PUT", address, body=body) if none or body else ctx.client.get(address)
    ctx.show(answer, lambda usage: output.line("\n".join(spent(usage["used"], usage["budget"]))))


def spent(used: Json, budget: Json | None) -> list[str]:
    """Describes a tree's usage and, if it has a budget, how much of it is used."""
    minutes = used["seconds"] / 60
    cost = f", cost {used['cost']:.2f}" if used["cost"] else ""
    lines = [f"Used: {used['turns']} turns, {amount(used['tokens'])} tokens{cost}, {minutes:.1f} min"]
    if budget is None:
        return lines
    parts = [
        f"{used['turns'] - budget['baseTurns']} of {budget['maxTurns']} turns" if budget["maxTurns"] else "",
        f"{amount(used['tokens'] - budget['baseTokens'])} of {amount(budget['maxTokens'])} tokens"
        if budget["maxTokens"]
        else "",
        f"cost {used['cost'] - budget['baseCost']:.2f} of {budget['maxCost']:g}" if budget["maxCost"] else "",
        f"{minutes - budget['baseSeconds'] / 60:.1f} of {budget['maxMinutes']:g} min" if budget["maxMinutes"] else "",
    ]
    limits = ", ".join(part for part in parts if part)
    return [*lines, f"Budget: {limits}"] if limits else lines


def _body(
    ctx: CommandContext,
    text: str | None,
    title: str | None,
    description: str | None,
    preset: str | None,
    agent: str | None,
    model: str | None,
    effort: str | None,
    mcp: list[str] | None,
    no_mcp: bool,
    env: list[str] | None,
    file: list[Path] | None,
) -> Json:
    """Returns the fields that all branches share; None means inherited."""
    return {
        "prompt": read_text(text) if text is not None else None,
        "title": title,
        "description": description,
        "preset": preset,
        "agent": agent,
        "model": model,
        "effort": effort,
        "mcpServerIds": resolve_mcp_option(ctx.client, mcp, no_mcp),
        "env": parse_pairs(env),
        "files": encode_files(file),
    }


def _worktree(name: str | None) -> str | Json | None:
    return name if name in (None, "new", "same") else {"branch": name}


def _headless(answer: str | None) -> str | None:
    return None if answer == "server" else answer


def _branch(ctx: CommandContext, session: str, kind: str, fields: Json, follow: bool) -> int:
    body = {name: value for name, value in fields.items() if value is not None}
    if follow and "prompt" not in body:
        raise typer.BadParameter("--follow needs a PROMPT.")
    cursor = stream.now(ctx.client) if follow else 0
    within = SETUP_WITHIN if "worktree" in body else ANSWER_WITHIN
    answer = ctx.client.post(path("sessions", session, kind), body, within)
    created: Json = answer.value
    short_id = short(created["sessionId"])
    for warning in created.get("warnings", []):
        output.note(f"Warning: {shorten(warning)}")
    if follow:
        if not ctx.json:
            output.note(f"Session {short_id}.")
        return follow_session(ctx, created["sessionId"], created["taskId"], cursor)

    def render(_: Json) -> None:
        hint = f"bough session watch {short_id}" if created["taskId"] else f"bough session prompt {short_id} -f TEXT"
        output.line(f"Session {short_id}" + (f", task {short(created['taskId'])}." if created["taskId"] else "."))
        output.note(f"Next: {hint}")

    ctx.show(answer, render)
    return DONE
