"""`bough race`: one prompt to several branches, how they stand, and keeping one (B6). All of it is done by the
server."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import SETUP_WITHIN, Json, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import brief, short, short_forms
from bough.api.cli.session.prompt import SessionId, spoken

app = typer.Typer(no_args_is_help=True, help="One prompt to several branches, each in a worktree of its own.")

STYLES = {"+": "green", "-": "red", "@": "cyan"}

RaceId = Annotated[str, typer.Argument(metavar="RACE", help="Its id, or 8 characters of it.")]
Winner = Annotated[
    str,
    typer.Argument(
        metavar="SESSION", help="Which one: its id, or 8 characters of it.", autocompletion=ids("sessions", "title")
    ),
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="race")


@command(app, "start")
def start(
    here: Here,
    session: SessionId,
    text: Annotated[
        str, typer.Argument(metavar="PROMPT|-", help="What all are to do; - reads it from standard input.")
    ],
    runners: Annotated[
        list[str],
        typer.Option(
            "--with",
            "-w",
            metavar="AGENT[:MODEL]",
            help="Who runs, 2 to 8 of them; the same may be named again. An empty agent is the session's.",
        ),
    ],
    spawn: Annotated[bool, typer.Option("--spawn", help="Begin afresh, without the conversation so far.")] = False,
    title: Annotated[str | None, typer.Option("--title", help="What to call it; else as the prompt begins.")] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="Their permission mode; else the session's.")
    ] = None,
    effort: Annotated[str | None, typer.Option("--effort", help="How hard all are to think.")] = None,
) -> None:
    """Send one prompt to several branches of a session, each in a worktree that begins with the same files."""
    body = {
        "prompt": spoken(text),
        "kind": "spawn" if spawn else "fork",
        "title": title,
        "contenders": [_contender(one, mode, effort) for one in runners],
    }

    def render(begun: Json) -> None:
        known = short_forms([one["sessionId"] for one in begun["sessions"]])
        for number, one in enumerate(begun["sessions"], 1):
            output.line(f"{number}  session {known[one['sessionId']]}  {runners[number - 1]}")
        output.line(f"Race {short(begun['raceId'])}. See how it goes with: bough race show {short(begun['raceId'])}")

    here.show(here.client.post(path("sessions", session, "race"), body, SETUP_WITHIN), render)


@command(app, "show")
def show(
    here: Here,
    race: RaceId,
    diff: Annotated[bool, typer.Option("--diff", help="With what each has changed.")] = False,
    only: Annotated[
        str | None, typer.Option("--session", "-s", metavar="ID", help="All that this one has changed, uncut.")
    ] = None,
) -> None:
    """Show how the contenders of a race stand, and what they have changed."""
    if only is not None:
        here.show(here.client.get(path("races", race, "diff"), session=only), _say_diff)
        return
    here.show(here.client.get(path("races", race), full=diff), _say_race)


@command(app, "keep")
def keep(
    here: Here,
    race: RaceId,
    session: Winner,
    how: Annotated[
        Literal["merge", "checkout", "branch"],
        typer.Option(
            "--how",
            metavar="merge|checkout|branch",
            help="Merge it where the race began, put its files there uncommitted, or leave its branch.",
        ),
    ] = "merge",
    force: Annotated[
        bool, typer.Option("--force", help="Even if a turn runs there; with checkout, over uncommitted files.")
    ] = False,
) -> None:
    """Keep the work of one contender; the others are archived, and their worktrees can be recovered."""
    body = {"sessionId": session, "how": how, "force": force}
    here.show(here.client.post(path("races", race, "keep"), body, SETUP_WITHIN), _say_kept)


def _contender(given: str, mode: str | None, effort: str | None) -> Json:
    agent, _, model = given.partition(":")
    return {"agent": agent or None, "model": model or None, "permissionMode": mode, "effort": effort}


def _say_race(race: Any) -> None:
    rows: list[Json] = race["contenders"]
    known = short_forms([row["sessionId"] for row in rows])
    output.facts(
        [
            ("race", race["raceId"]),
            ("session", f"{short(race['sessionId'])} ({race['kind']}s of it)"),
            ("prompt", brief(race["prompt"])),
        ]
    )
    output.table(
        ("NO", "SESSION", "AGENT", "TASK", "FILES", "LINES", "TURNS", "TOKENS", "COST"),
        [
            (
                str(row["number"]),
                known[row["sessionId"]],
                f"{row['agent']}:{row['model']}" if row["model"] else row["agent"],
                "kept" if row["kept"] else row["taskStatus"] or row["status"],
                "?" if row["files"] is None else str(row["files"]),
                "?" if row["files"] is None else f"+{row['insertions']} -{row['deletions']}",
                str(row["turns"]),
                str(row["tokens"]),
                f"{row['cost']:.4f}",
            )
            for row in rows
        ],
        flexible="AGENT",
        empty="Nobody is left of it.",
    )
    for row in rows:
        if row["diff"] is not None:
            output.line(f"\n{row['number']}  session {known[row['sessionId']]}  {row['agent']}", "bold")
            _say_diff(row["diff"])
        elif row["note"]:
            output.note(f"{row['number']}: {row['note']}")


def _say_diff(found: Any) -> None:
    for line in found["text"].splitlines():
        output.line(line, STYLES.get(line[:1], ""))
    if not found["files"]:
        output.line("Nothing was changed.", "dim")
    if found["note"]:
        output.note(found["note"])


def _say_kept(kept: Any) -> None:
    done = {
        "merge": f"merged into {kept['into']}" if kept["merged"] != "none" else f"in {kept['into']} already",
        "checkout": f"put there as uncommitted changes, {kept['files']} files",
        "branch": "left there",
    }[kept["how"]]
    output.line(f"Kept session {short(kept['sessionId'])}: {kept['sha'][:10]} on branch {kept['branch']}, {done}.")
    if kept["undoCheckpointId"]:
        output.line(f"To undo this: bough checkpoint restore {kept['undoCheckpointId']}")
    for other in kept["others"]:
        if other["recover"]:
            output.line(f"To get session {short(other['sessionId'])} back: {other['recover']}", "dim")
        if other["message"]:
            output.note(f"Session {short(other['sessionId'])}: {other['message']}")
