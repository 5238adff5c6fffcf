"""`bough home` and `bough tour`: what needs a person and what runs, at a glance, and a small repository to try
things in. Looking closer is the other commands' part."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.formats import ago, amount, brief, clean, short_forms
from bough.api.cli.session.control import state

# What is shown of each, of what the server names.
SHOWN = 10
SESSIONS = ("ID", "STATE", "AGENT", "REPO", "AGE", "SESSION")


def add_to(root: typer.Typer) -> None:
    command(root, "home")(home)
    command(root, "tour")(tour)


def home(here: Here) -> None:
    """Show what needs you, what runs, and what was used today."""
    offset = datetime.now().astimezone().utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset is not None else 0
    here.show(here.client.get("/api/home", tz=minutes), _draw)


def _draw(found: Json) -> None:
    needs, counts = found["needs"], found["counts"]
    approvals: list[Json] = needs["approvals"]
    if approvals:
        known = short_forms([one["id"] for one in approvals])
        _heading("Questions", counts["approvals"])
        rows = [
            (known[one["id"]], one["agent"], ago(one["createdAt"]), clean(f"{one['title']}"))
            for one in approvals[:SHOWN]
        ]
        output.table(("ID", "AGENT", "AGE", "QUESTION"), rows, flexible="QUESTION", empty="")
        _rest(len(rows), counts["approvals"], "bough approval list")
    for title, name, sessions, see in (
        ("Failed", "failed", needs["failed"], "bough session show ID; bough session seen ID"),
        ("To look at", "review", needs["review"], "bough session show ID; bough session seen ID"),
        ("Running", "running", found["running"], "bough tree"),
        ("Waiting", "queued", found["queued"], "bough tree"),
    ):
        if sessions:
            _heading(title, counts[name])
            _sessions(sessions[:SHOWN])
            _rest(len(sessions[:SHOWN]), counts[name], see)
    if not any(counts.values()):
        output.line("Nothing needs you, and nothing runs.", "dim")
    output.line("")
    output.line(" · ".join(_spent(name, found["totals"][name]) for name in ("today", "week", "all")), "dim")


def _heading(title: str, count: int) -> None:
    output.line(f"{title} ({count})", "bold")


def _sessions(sessions: list[Json]) -> None:
    known = short_forms([one["id"] for one in sessions])
    rows = [
        (
            known[one["id"]],
            state(one),
            one["agent"],
            brief(one["repoName"], 24),
            ago(one["activeAt"]),
            clean(one["title"] or "(no prompt yet)"),
        )
        for one in sessions
    ]
    output.table(SESSIONS, rows, flexible="SESSION", empty="")


def _rest(shown: int, count: int, see: str) -> None:
    if count > shown:
        output.line(f"{count - shown} more; see {see}", "dim")


def _spent(name: str, used: Json) -> str:
    cost = f", cost {used['cost']:.2f}" if used["cost"] >= 0.005 else ""
    title = {"today": "Today", "week": "7 days", "all": "ever"}[name]
    turns = f"{used['turns']} turn{'' if used['turns'] == 1 else 's'}"
    return f"{title}: {turns}, {amount(used['tokens'])} tokens{cost}"


def tour(
    here: Here,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take it away, with its sessions and all that was done in it.")
    ] = False,
) -> None:
    """Make a small repository to try everything in, or show the one there is."""

    def made(answer: Any) -> None:
        output.line(f"The tour is in {clean(answer['path'])}. Try: bough session new --repo {clean(answer['path'])}")

    def gone(answer: Any) -> None:
        if answer["path"] is None:
            output.line("There is no tour.")
        else:
            output.line(f"{clean(answer['path'])} is gone, with {answer['sessions']} sessions.")

    if remove:
        here.show(here.client.delete("/api/tour"), gone)
    else:
        here.show(here.client.post("/api/tour", {}), made)
