"""`bough schedule`: sends prompts by the clock, to a session or to a new one each time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.client import SETUP_WITHIN, Json, path
from bough.api.cli.framework.completion import agents, ids, names, session_option
from bough.api.cli.framework.formats import ago, ahead, brief, moment, short, short_forms
from bough.api.cli.framework.selectors import REPO, SESSION, find
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import Limit, Offset
from bough.api.cli.session.options import Effort, Mode, Model, Preset
from bough.api.cli.session.prompt import read_text

app = typer.Typer(no_args_is_help=True, help="Send prompts by the clock, to a session or to a new one each time.")
ZONES = Path("/usr/share/zoneinfo")


def _label(row: Any) -> str:
    return brief(row["title"], 60)


ScheduleId = Annotated[
    str,
    typer.Argument(
        metavar="SCHEDULE", help="Schedule id, or 8 characters of it.", autocompletion=ids("schedules", _label)
    ),
]
Cron = Annotated[
    str | None,
    typer.Option("--cron", "-c", metavar="FIELDS", help='Repeated times, such as "30 6 * * 1-5" (06:30 on weekdays).'),
]
At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="One time, such as 2026-12-24T18:00.")]
Zone = Annotated[
    str | None,
    typer.Option("--timezone", metavar="ZONE", help="Time zone of the times, such as Europe/Berlin; yours by default."),
]
Title = Annotated[str | None, typer.Option("--title", "-t", help="Title; defaults to the start of the prompt.")]
Missed = Annotated[
    Literal["run", "skip"] | None,
    typer.Option(
        "--missed",
        metavar="run|skip",
        help="Whether to make up, once, for times that passed while no server ran; run by default.",
    ),
]
Overlap = Annotated[
    Literal["run", "skip"] | None,
    typer.Option(
        "--overlap", metavar="run|skip", help="Whether to start while the previous run is still going; skip by default."
    ),
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="schedule")


@command(app, "add")
def add(
    ctx: CommandContext,
    text: Annotated[
        str,
        typer.Argument(
            metavar="PROMPT|-", help="The prompt; {date}, {time} and {number} are filled in. - reads standard input."
        ),
    ],
    cron: Cron = None,
    at: At = None,
    zone: Zone = None,
    session: Annotated[str | None, SESSION, session_option("Prompt this session.")] = None,
    repo: Annotated[
        str | None,
        typer.Option(
            "--repo",
            "-r",
            metavar="PATH|NAME|ID",
            help="Create a new session in this repo for each run.",
            autocompletion=names("repo"),
        ),
    ] = None,
    worktree: Annotated[
        str | None,
        typer.Option(
            "--worktree",
            "-w",
            metavar="BRANCH",
            help="Give each new session a worktree; BRANCH gets the date and time, or has {date}, {time}, {number}.",
        ),
    ] = None,
    preset: Preset = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Agent of the new sessions.", autocompletion=agents)
    ] = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    title: Title = None,
    missed: Missed = None,
    overlap: Overlap = None,
    paused: Annotated[bool, typer.Option("--paused", help="Add it paused.")] = False,
) -> None:
    """Add a schedule."""
    if (session is None) == (repo is None):
        raise typer.BadParameter("Use either --session, which prompts one session, or --repo, for a new one each time.")
    template: Json = {"preset": preset, "agent": agent, "permissionMode": mode, "model": model, "effort": effort}
    template = {name: value for name, value in template.items() if value is not None}
    if worktree is not None:
        template["worktree"] = {"branch": worktree}
    if session is not None and template:
        raise typer.BadParameter("--worktree, --preset, --agent, --mode, --model and --effort belong to --repo.")
    fields: Json = {"prompt": read_text(text), "cron": cron, "at": at, "timezone": zone or local_zone()}
    fields |= {"title": title, "missed": missed, "overlap": overlap, "paused": paused or None}
    body = {name: value for name, value in fields.items() if value is not None}
    if session is not None:
        body["sessionId"] = session
    else:
        assert repo is not None
        body["session"] = {"repoId": find(ctx.client, REPO, repo), **template}
    ctx.show(ctx.client.post("/api/schedules", body), _print_next)


@command(app, "list")
def list_schedules(
    ctx: CommandContext,
    session: Annotated[str | None, SESSION, session_option("Only schedules of this session.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List schedules, those that are due next first."""

    def render(page: Any) -> None:
        rows: list[Json] = page["schedules"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "NEXT", "TIMES", "LAST", "TITLE"),
            [(forms[row["id"]], _next(row), row["times"], _last(row), clean(row["title"])) for row in rows],
            flexible="TITLE",
            empty='No schedules. Add one: bough schedule add PROMPT --cron "0 6 * * *" --session SESSION',
        )
        output.more(page, len(rows))

    query = {"sessionId": session} if session is not None else {}
    ctx.show(ctx.client.get("/api/schedules", limit=limit, offset=offset, **query), render)


@command(app, "show")
def show(ctx: CommandContext, schedule: ScheduleId) -> None:
    """Show a schedule and its next times."""
    ctx.show(ctx.client.get(path("schedules", schedule)), _draw)


@command(app, "set")
def change(
    ctx: CommandContext,
    schedule: ScheduleId,
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", help="New prompt; - reads it from standard input.")
    ] = None,
    cron: Cron = None,
    at: At = None,
    zone: Zone = None,
    title: Title = None,
    missed: Missed = None,
    overlap: Overlap = None,
) -> None:
    """Change a schedule."""
    fields: Json = {"prompt": read_text(prompt) if prompt is not None else None, "cron": cron, "at": at}
    fields |= {"timezone": zone, "title": title, "missed": missed, "overlap": overlap}
    body = {name: value for name, value in fields.items() if value is not None}
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough schedule set --help")
    ctx.show(ctx.client.patch(path("schedules", schedule), body), _print_next)


@command(app, "pause")
def pause(ctx: CommandContext, schedule: ScheduleId) -> None:
    """Pause a schedule; times that pass meanwhile are skipped."""
    answer = ctx.client.patch(path("schedules", schedule), {"paused": True})
    ctx.show(answer, lambda row: output.line(f"Schedule {short(row['id'])} is paused."))


@command(app, "resume")
def resume(ctx: CommandContext, schedule: ScheduleId) -> None:
    """Resume a paused schedule."""
    ctx.show(ctx.client.patch(path("schedules", schedule), {"paused": False}), _print_next)


@command(app, "run")
def run(ctx: CommandContext, schedule: ScheduleId) -> int:
    """Start a run now; exit 1 if it could not be started."""
    answer = ctx.client.post(path("schedules", schedule, "run"), {}, SETUP_WITHIN)
    ctx.show(answer, _print_run)
    return FAILED if answer.value["status"] == "failed" else DONE


@command(app, "runs")
def list_runs(ctx: CommandContext, schedule: ScheduleId, limit: Limit = 20, offset: Offset = 0) -> None:
    """List the runs of a schedule, newest first."""

    def render(page: Any) -> None:
        rows: list[Json] = page["runs"]
        output.table(
            ("TIME", "STATUS", "SESSION", "TASK", "REASON"),
            [
                (
                    moment(row["slot"]),
                    row["status"],
                    short(row["sessionId"]) if row["sessionId"] else "",
                    short(row["taskId"]) if row["taskId"] else "",
                    _reason(row),
                )
                for row in rows
            ],
            flexible="REASON",
            empty="No runs yet.",
        )
        output.more(page, len(rows))

    ctx.show(ctx.client.get(path("schedules", schedule, "runs"), limit=limit, offset=offset), render)


@command(app, "rm")
def remove(
    ctx: CommandContext,
    schedule: ScheduleId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Remove a schedule with its history; what it started stays."""
    address = path("schedules", schedule)
    if not yes:
        title = clean(ctx.client.get(address).value["title"])
        typer.confirm(f"Remove the schedule {title!r}?", abort=True, err=True)
    ctx.show(ctx.client.delete(address), lambda row: output.line(f"Schedule {short(row['id'])} is removed."))


def local_zone() -> str:
    """Returns the name of this machine's time zone; UTC if it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if named and (ZONES / named).is_file():
        return named
    target = Path("/etc/localtime").resolve()
    return str(target.relative_to(ZONES)) if target.is_relative_to(ZONES) else "UTC"


def _next(row: Json) -> str:
    if row["paused"]:
        return "paused"
    if row["problem"]:
        return "will fail"
    return ahead(row["nextAt"]) if row["nextAt"] else "over"


def _last(row: Json) -> str:
    last = row["lastRun"]
    return f"{last['status']} {ago(last['createdAt'])}" if last else ""


def _reason(run: Json) -> str:
    missed = f"{run['missed']} earlier times were missed." if run["missed"] else ""
    return " ".join(filter(None, (clean(run["reason"] or ""), missed)))


def _print_next(row: Json) -> None:
    when = f"next {moment(row['nextAt'])} ({ahead(row['nextAt'])})" if row["nextAt"] else "no further time"
    state = "paused" if row["paused"] else when
    output.line(f"Schedule {short(row['id'])}: {row['times']}; {state}.")


def _print_run(run: Json) -> None:
    if run["status"] == "started":
        output.line(f"Started: task {short(run['taskId'])} of session {short(run['sessionId'])}.")
        output.note(f"Next: bough session watch {short(run['sessionId'])}")
    else:
        output.line(f"{run['status'].capitalize()}: {_reason(run)}")


def _draw(row: Json) -> None:
    template: Json = row["template"] or {}
    where = f"session {short(row['sessionId'])}" if row["sessionId"] else "a new session each time"
    facts = [
        ("id", row["id"]),
        ("title", clean(row["title"])),
        ("prompt", brief(row["prompt"], 400)),
        ("times", row["times"]),
        ("next", ", ".join(moment(time) for time in row["upcoming"]) or "none"),
        ("prompts", where),
    ]
    if template:
        worktree: Json = template.get("worktree") or {}
        agent = template.get("agent") or ("the preset's" if template.get("preset") else "the default")
        facts += [
            ("preset", row["preset"] or ""),
            ("agent", agent),
            ("problem", row["problem"] or ""),
            ("worktree", worktree.get("branch", "")),
        ]
    facts += [("missed times", row["missed"]), ("overlap", row["overlap"])]
    facts += [("paused", (row["pauseReason"] or "yes") if row["paused"] else "no"), ("last run", _last(row))]
    output.facts([(name, value) for name, value in facts if value])
