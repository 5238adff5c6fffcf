"""`bough home` and `bough tour`: shows what needs attention and what is running, and creates a small repo to try things
in."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.formats import ago, amount, brief, short_forms
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.session.control import state

# Rows shown per section.
SHOWN = 10
SESSIONS = ("ID", "STATE", "AGENT", "REPO", "AGE", "SESSION")


def add_to(root: typer.Typer) -> None:
    command(root, "home")(home)
    command(root, "tour")(tour)


def home(ctx: CommandContext) -> None:
    """Show what needs your attention, what is running, and today's usage."""
    offset = datetime.now().astimezone().utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset is not None else 0
    ctx.show(ctx.client.get("/api/home", tz=minutes), _draw)


def _draw(overview: Json) -> None:
    needs, counts = overview["needs"], overview["counts"]
    approvals: list[Json] = needs["approvals"]
    if approvals:
        short_ids = short_forms([approval["id"] for approval in approvals])
        _heading("Approvals", counts["approvals"])
        rows = [
            (short_ids[approval["id"]], approval["agent"], ago(approval["createdAt"]), clean(f"{approval['title']}"))
            for approval in approvals[:SHOWN]
        ]
        output.table(("ID", "AGENT", "AGE", "QUESTION"), rows, flexible="QUESTION", empty="")
        _rest(len(rows), counts["approvals"], "bough approval list")
    for title, name, sessions, command_hint in (
        ("Failed", "failed", needs["failed"], "bough session show ID; bough session seen ID"),
        ("Unread", "review", needs["review"], "bough session show ID; bough session seen ID"),
        ("Running", "running", overview["running"], "bough tree"),
        ("Queued", "queued", overview["queued"], "bough tree"),
    ):
        if sessions:
            _heading(title, counts[name])
            _sessions(sessions[:SHOWN])
            _rest(len(sessions[:SHOWN]), counts[name], command_hint)
    if not any(counts.values()):
        output.line("Nothing needs your attention, and nothing is running.", "dim")
    output.line("")
    output.line(" · ".join(_spent(name, overview["totals"][name]) for name in ("today", "week", "all")), "dim")


def _heading(title: str, count: int) -> None:
    output.line(f"{title} ({count})", "bold")


def _sessions(sessions: list[Json]) -> None:
    short_ids = short_forms([session["id"] for session in sessions])
    rows = [
        (
            short_ids[session["id"]],
            state(session),
            session["agent"],
            brief(session["repoName"], 24),
            ago(session["activeAt"]),
            clean(session["title"] or "(no prompt yet)"),
        )
        for session in sessions
    ]
    output.table(SESSIONS, rows, flexible="SESSION", empty="")


def _rest(shown: int, count: int, hint: str) -> None:
    if count > shown:
        output.line(f"{count - shown} more; see: {hint}", "dim")


def _spent(name: str, used: Json) -> str:
    cost = f", cost {used['cost']:.2f}" if used["cost"] >= 0.005 else ""
    title = {"today": "Today", "week": "7 days", "all": "Total"}[name]
    turns = f"{used['turns']} turn{'' if used['turns'] == 1 else 's'}"
    return f"{title}: {turns}, {amount(used['tokens'])} tokens{cost}"


def tour(
    ctx: CommandContext,
    remove: Annotated[bool, typer.Option("--remove", help="Delete it, with its sessions and all work in it.")] = False,
) -> None:
    """Create a small repo to try everything in, or show the existing one."""

    def print_path(answer: Any) -> None:
        output.line(f"The tour repo is {clean(answer['path'])}. Try: bough session new --repo {clean(answer['path'])}")

    def print_deleted(answer: Any) -> None:
        if answer["path"] is None:
            output.line("There is no tour repo.")
        else:
            output.line(f"{clean(answer['path'])} and its {answer['sessions']} sessions are deleted.")

    if remove:
        ctx.show(ctx.client.delete("/api/tour"), print_deleted)
    else:
        ctx.show(ctx.client.post("/api/tour", {}), print_path)
