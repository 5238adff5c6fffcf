"""`bough race`: gives one prompt to several racers, compares their results, and keeps one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import SETUP_WITHIN, Json, path
from bough.api.cli.framework.completion import efforts, names, presets, session_option
from bough.api.cli.framework.formats import ago, brief, short, short_forms, shorten
from bough.api.cli.framework.selectors import RACE, SESSION
from bough.api.cli.repos.repo import Limit, Offset
from bough.api.cli.session.prompt import SessionId, read_text

app = typer.Typer(
    no_args_is_help=True, help="Race one prompt in several forks, each in its own worktree, and keep one result."
)

STYLES = {"+": "green", "-": "red", "@": "cyan"}

RaceId = Annotated[
    str,
    RACE,
    typer.Argument(
        metavar="RACE",
        help="Race: its id or 8 characters of it, its title or prompt, the title of its session, or @last.",
        autocompletion=names("race"),
    ),
]
Winner = Annotated[
    str,
    SESSION,
    typer.Argument(
        metavar="SESSION",
        help="The racer to keep: its session.",
        autocompletion=names("session"),
    ),
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="race")


@command(app, "start")
def start(
    ctx: CommandContext,
    session: SessionId,
    text: Annotated[
        str, typer.Argument(metavar="PROMPT|-", help="The prompt for all racers; - reads it from standard input.")
    ],
    racers: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            "-w",
            metavar="AGENT[:MODEL]",
            help="A racer; repeat it 2 to 8 times, also with the same agent. An empty AGENT is the session's.",
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option("--preset", metavar="NAME", help="A racer from this preset; repeatable.", autocompletion=presets),
    ] = None,
    spawn: Annotated[
        bool, typer.Option("--spawn", help="Start with no context instead of forking the conversation.")
    ] = False,
    title: Annotated[str | None, typer.Option("--title", help="Title; defaults to the start of the prompt.")] = None,
    mode: Annotated[
        str | None,
        typer.Option("--mode", metavar="MODE", help="Permission mode of all racers; defaults to the session's."),
    ] = None,
    effort: Annotated[
        str | None, typer.Option("--effort", help="Effort level of all racers.", autocompletion=efforts)
    ] = None,
) -> None:
    """Start a race: send one prompt to several forks of a session, each in a worktree with the same files."""
    agents, preset_names = racers or [], preset or []
    contenders = [_racer(racer, mode, effort) for racer in agents]
    contenders += [{"preset": name, "permissionMode": mode, "effort": effort} for name in preset_names]
    if not contenders:
        raise typer.BadParameter("Name the racers: use --with AGENT, or --preset NAME, 2 to 8 times.")
    labels = [*agents, *preset_names]
    body = {
        "prompt": read_text(text),
        "kind": "spawn" if spawn else "fork",
        "title": title,
        "contenders": contenders,
    }

    def render(race: Json) -> None:
        short_ids = short_forms([racer["sessionId"] for racer in race["sessions"]])
        for number, racer in enumerate(race["sessions"], 1):
            output.line(f"{number}  session {short_ids[racer['sessionId']]}  {labels[number - 1]}")
        for warning in dict.fromkeys(text for racer in race["sessions"] for text in racer.get("warnings", [])):
            output.note(f"Warning: {shorten(warning)}")
        output.line(f"Race {short(race['raceId'])}. See its progress: bough race show {short(race['raceId'])}")

    ctx.show(ctx.client.post(path("sessions", session, "race"), body, SETUP_WITHIN), render)


@command(app, "list")
def list_races(
    ctx: CommandContext,
    session: Annotated[str | None, SESSION, session_option("Only races of this session's tree.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List races, newest first."""
    address = path("sessions", session, "races") if session is not None else path("races")

    def render(page: Any) -> None:
        rows: list[Json] = page["races"]
        forms = short_forms([row["raceId"] for row in rows])
        output.table(
            ("ID", "SESSION", "RACERS", "KEPT", "STARTED", "PROMPT"),
            [
                (
                    forms[row["raceId"]],
                    short(row["sessionId"]) if row["sessionId"] else "",
                    str(len(row["sessionIds"])),
                    short(row["keptSessionId"]) if row["keptSessionId"] else "",
                    ago(row["createdAt"]),
                    brief(row["prompt"], 200),
                )
                for row in rows
            ],
            flexible="PROMPT",
            empty="No races. Start one: bough race start SESSION PROMPT --with AGENT --with AGENT",
        )
        output.more(page, len(rows))

    ctx.show(ctx.client.get(address, limit=limit, offset=offset), render)


@command(app, "show")
def show(
    ctx: CommandContext,
    race: RaceId,
    diff: Annotated[bool, typer.Option("--diff", help="Include each racer's changes.")] = False,
    only: Annotated[str | None, SESSION, session_option("Show all changes of this racer, in full.")] = None,
) -> None:
    """Show the racers' progress and changes."""
    if only is not None:
        ctx.show(ctx.client.get(path("races", race, "diff"), session=only), _print_diff)
        return
    ctx.show(ctx.client.get(path("races", race), full=diff), _print_race)


@command(app, "keep")
def keep(
    ctx: CommandContext,
    race: RaceId,
    session: Winner,
    how: Annotated[
        Literal["merge", "checkout", "branch"],
        typer.Option(
            "--how",
            metavar="merge|checkout|branch",
            help="Merge it into the race's base, check its files out there uncommitted, or only keep its branch.",
        ),
    ] = "merge",
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Keep it even while a turn is running there; with checkout, overwrite uncommitted files."
        ),
    ] = False,
) -> None:
    """Keep one racer's work. The others are archived, and their worktrees can be recovered."""
    body = {"sessionId": session, "how": how, "force": force}
    ctx.show(ctx.client.post(path("races", race, "keep"), body, SETUP_WITHIN), _print_kept)


def _racer(text: str, mode: str | None, effort: str | None) -> Json:
    agent, _, model = text.partition(":")
    return {"agent": agent or None, "model": model or None, "permissionMode": mode, "effort": effort}


def _print_race(race: Any) -> None:
    rows: list[Json] = race["contenders"]
    short_ids = short_forms([row["sessionId"] for row in rows])
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
                short_ids[row["sessionId"]],
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
        empty="No racers are left.",
    )
    for row in rows:
        if row["diff"] is not None:
            output.line(f"\n{row['number']}  session {short_ids[row['sessionId']]}  {row['agent']}", "bold")
            _print_diff(row["diff"])
        elif row["note"]:
            output.note(f"{row['number']}: {row['note']}")


def _print_diff(changes: Any) -> None:
    for line in changes["text"].splitlines():
        output.line(line, STYLES.get(line[:1], ""))
    if not changes["files"]:
        output.line("No changes.", "dim")
    if changes["note"]:
        output.note(changes["note"])


def _print_kept(result: Any) -> None:
    outcome = {
        "merge": f"merged into {result['into']}" if result["merged"] != "none" else f"already in {result['into']}",
        "checkout": f"checked out as uncommitted changes, {result['files']} files",
        "branch": "kept as a branch",
    }[result["how"]]
    output.line(
        f"Kept session {short(result['sessionId'])}: {result['sha'][:10]} on branch {result['branch']}, {outcome}."
    )
    if result["undoCheckpointId"]:
        output.line(f"To undo this: bough checkpoint restore {result['undoCheckpointId']}")
    for other in result["others"]:
        if other["recover"]:
            output.line(f"To recover session {short(other['sessionId'])}: {other['recover']}", "dim")
        if other["message"]:
            output.note(f"Session {short(other['sessionId'])}: {other['message']}")
