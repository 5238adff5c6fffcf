"""`bough session fork|spawn|btw|callbacks|budget`: making sessions out of sessions, what children report, and what a
tree may use. How trees look is `trees`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli.commands.mcp import Mcp, NoMcp, chosen
from bough.api.cli.commands.repo import Limit, Offset
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, Here, command
from bough.api.cli.framework.client import ANSWER_WITHIN, SETUP_WITHIN, Json, path
from bough.api.cli.framework.completion import agents, ids
from bough.api.cli.framework.formats import ago, amount, brief, short
from bough.api.cli.session.manage import app
from bough.api.cli.session.options import (
    Description,
    Effort,
    Env,
    Given,
    Mode,
    Model,
    Title,
    Unanswered,
    given_files,
    pairs,
)
from bough.api.cli.session.prompt import Follow, SessionId, listen, spoken

Prompt = Annotated[str, typer.Argument(metavar="PROMPT|-", help="What to say; - reads it from standard input.")]
Agent = Annotated[
    str | None,
    typer.Option("--agent", "-a", help="Another agent; see bough agents.", autocompletion=agents),
]
Worktree = Annotated[
    str | None,
    typer.Option("--worktree", "-w", metavar="new|BRANCH", help="In a new worktree, with the files as they are."),
]


def add_to(_root: typer.Typer) -> None:
    """All of these stand in `bough session`."""


@command(app, "fork")
def fork(
    here: Here,
    session: SessionId,
    text: Annotated[str | None, typer.Argument(metavar="PROMPT|-", help="What to say first; - reads it.")] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", metavar="TASK", help="After this task, not the last.", autocompletion=ids("tasks", "prompt")
        ),
    ] = None,
    title: Title = None,
    description: Description = None,
    agent: Agent = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    worktree: Worktree = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    env: Env = None,
    headless: Unanswered = None,
    file: Given = None,
    follow: Follow = False,
) -> int:
    """Make a sibling that knows the conversation so far."""
    body = _body(here, text, title, description, agent, model, effort, mcp, no_mcp, env, file)
    body |= {"taskId": task, "permissionMode": mode, "worktree": _worktree(worktree), "headless": _headless(headless)}
    return _branch(here, session, "fork", body, follow)


@command(app, "spawn")
def spawn(
    here: Here,
    session: SessionId,
    text: Prompt,
    title: Title = None,
    description: Description = None,
    agent: Agent = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    worktree: Worktree = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    env: Env = None,
    headless: Unanswered = None,
    no_callback: Annotated[bool, typer.Option("--no-callback", help="It does not report back.")] = False,
    no_last: Annotated[bool, typer.Option("--no-last-message", help="Report without its last message.")] = False,
    with_prompt: Annotated[bool, typer.Option("--with-prompt", help="Report with what it was asked.")] = False,
    instructions: Annotated[
        str | None, typer.Option("--instructions", help="What the parent is told with each report.")
    ] = None,
    file: Given = None,
    follow: Follow = False,
) -> int:
    """Make a child that begins afresh, and reports back at the end of each task."""
    body = _body(here, text, title, description, agent, model, effort, mcp, no_mcp, env, file)
    body |= {"permissionMode": mode, "worktree": _worktree(worktree), "headless": _headless(headless)}
    if no_callback or no_last or with_prompt or instructions is not None:
        body["callback"] = {
            "enabled": not no_callback,
            "includeLastMessage": not no_last,
            "includeOriginalPrompt": with_prompt,
            "extraInstructions": instructions,
        }
    return _branch(here, session, "spawn", body, follow)


@command(app, "btw")
def btw(
    here: Here,
    session: SessionId,
    text: Prompt,
    title: Title = None,
    agent: Agent = None,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    env: Env = None,
    file: Given = None,
    follow: Follow = False,
) -> int:
    """Ask something aside: beside whatever the session does, and without changing anything."""
    body = _body(here, text, title, None, agent, model, effort, mcp, no_mcp, env, file)
    return _branch(here, session, "btw", body, follow)


@command(app, "callbacks")
def callbacks(
    here: Here,
    session: SessionId,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="Only queued, delivered or held ones.")
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List what a session has reported, and what was reported to it, newest first."""
    answer = here.client.get(path("sessions", session, "callbacks"), state=state, limit=limit, offset=offset)

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
            empty="No report.",
        )
        output.more(page, len(rows))

    here.show(answer, render)


@command(app, "budget")
def budget(
    here: Here,
    session: SessionId,
    tokens: Annotated[int | None, typer.Option("--tokens", metavar="N", min=1, help="At most so many tokens.")] = None,
    cost: Annotated[float | None, typer.Option("--cost", metavar="X", help="At most this cost, as agents say.")] = None,
    turns: Annotated[int | None, typer.Option("--turns", metavar="N", min=1, help="At most so many turns.")] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", metavar="N", help="At most so many minutes of turns.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="No bound at all.")] = False,
) -> None:
    """Show what the tree of a session may use, or bound it, counted from now; what is left out is not bounded."""
    given = {"maxTokens": tokens, "maxCost": cost, "maxTurns": turns, "maxMinutes": minutes}
    body = {name: value for name, value in given.items() if value is not None}
    if none and body:
        raise typer.BadParameter("--none goes with no other bound.")
    where = path("sessions", session, "budget")
    answer = here.client.call("PUT", where, body=body) if none or body else here.client.get(where)
    here.show(answer, lambda found: output.line("\n".join(spent(found["used"], found["budget"]))))


def spent(used: Json, bound: Json | None) -> list[str]:
    """What a tree has used, and what of its budget."""
    minutes = used["seconds"] / 60
    cost = f", cost {used['cost']:.2f}" if used["cost"] else ""
    told = [f"Used: {used['turns']} turns, {amount(used['tokens'])} tokens{cost}, {minutes:.1f} min"]
    if bound is None:
        return told
    parts = [
        f"{used['turns'] - bound['baseTurns']} of {bound['maxTurns']} turns" if bound["maxTurns"] else "",
        f"{amount(used['tokens'] - bound['baseTokens'])} of {amount(bound['maxTokens'])} tokens"
        if bound["maxTokens"]
        else "",
        f"cost {used['cost'] - bound['baseCost']:.2f} of {bound['maxCost']:g}" if bound["maxCost"] else "",
        f"{minutes - bound['baseSeconds'] / 60:.1f} of {bound['maxMinutes']:g} min" if bound["maxMinutes"] else "",
    ]
    bounds = ", ".join(part for part in parts if part)
    return [*told, f"Budget: {bounds}"] if bounds else told


def _body(
    here: Here,
    text: str | None,
    title: str | None,
    description: str | None,
    agent: str | None,
    model: str | None,
    effort: str | None,
    mcp: list[str] | None,
    no_mcp: bool,
    env: list[str] | None,
    file: list[Path] | None,
) -> Json:
    """What all branches have in common; what is None is inherited."""
    return {
        "prompt": spoken(text) if text is not None else None,
        "title": title,
        "description": description,
        "agent": agent,
        "model": model,
        "effort": effort,
        "mcpServerIds": chosen(here.client, mcp, no_mcp),
        "env": pairs(env),
        "files": given_files(file),
    }


def _worktree(wanted: str | None) -> str | Json | None:
    return wanted if wanted in (None, "new", "same") else {"branch": wanted}


def _headless(wanted: str | None) -> str | None:
    return None if wanted == "server" else wanted


def _branch(here: Here, session: str, kind: str, given: Json, follow: bool) -> int:
    body = {name: value for name, value in given.items() if value is not None}
    if follow and "prompt" not in body:
        raise typer.BadParameter("There is nothing to follow without a PROMPT.")
    cursor = stream.now(here.client) if follow else 0
    within = SETUP_WITHIN if "worktree" in body else ANSWER_WITHIN
    answer = here.client.post(path("sessions", session, kind), body, within)
    made: Json = answer.value
    known = short(made["sessionId"])
    if follow:
        if not here.json:
            output.note(f"Session {known}.")
        return listen(here, made["sessionId"], made["taskId"], cursor)

    def render(_: Json) -> None:
        hint = f"bough session watch {known}" if made["taskId"] else f"bough session prompt {known} -f TEXT"
        output.line(f"Session {known}" + (f", task {short(made['taskId'])}." if made["taskId"] else "."))
        output.note(f"Next: {hint}")

    here.show(answer, render)
    return DONE
