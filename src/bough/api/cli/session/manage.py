"""`bough session`: declares the group, and lists, shows and changes sessions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.approvals.approval import question
from bough.api.cli.approvals.shared import how_to_answer
from bough.api.cli.commands.mcp import Mcp, NoMcp, resolve_mcp_option, server_names
from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import ago, brief, moment, short, short_forms
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import Limit, Offset, find_repo
from bough.api.cli.session import control, create
from bough.api.cli.session import prompt as prompt_command
from bough.api.cli.session.control import print_state, state
from bough.api.cli.session.options import (
    Context,
    Description,
    Effort,
    Env,
    Headless,
    Mode,
    Model,
    ProfileChoice,
    ResumeAfterLimit,
    SandboxChoice,
    Timeout,
    Title,
    merge_callback,
    parse_choice,
    parse_minutes,
    parse_pairs,
)
from bough.api.cli.session.parked import describe_limit
from bough.api.cli.session.prompt import SessionId
from bough.api.cli.session.sizes import describe_size

SHOWN_QUEUE = 100

app = typer.Typer(no_args_is_help=True, help="Create, prompt, watch, control and branch sessions.")


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="session")


command(app, "new")(create.new)


@command(app, "list")
def list_sessions(
    ctx: CommandContext,
    repo: Annotated[
        str | None,
        typer.Option(
            "--repo", "-r", metavar="PATH|NAME|ID", autocompletion=names("repo"), help="Only sessions of this repo."
        ),
    ] = None,
    status: Annotated[str | None, typer.Option("--status", help="Only these, such as idle,running,completed.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="List archived sessions instead.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List sessions, newest first."""
    repo_id = find_repo(ctx.client, repo) if repo is not None else None
    query = {"repoId": repo_id, "status": status, "archived": archived, "limit": limit, "offset": offset}

    def render(page: Any) -> None:
        rows: list[Json] = page["sessions"]
        ids = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "AGENT", "STATUS", "MODE", "MESSAGES", "ACTIVE", "TITLE"),
            [
                (
                    ids[row["id"]],
                    row["agent"],
                    state(row),
                    row["permissionMode"],
                    str(row["messageCount"]),
                    ago(row["activeAt"]),
                    brief(row["title"], 200) or "–",
                )
                for row in rows
            ],
            flexible="TITLE",
            empty="No sessions. Create one: bough session new",
        )
        output.more(page, len(rows))

    ctx.show(ctx.client.get("/api/sessions", **query), render)


@command(app, "show")
def show(
    ctx: CommandContext,
    session: SessionId,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Number of messages to show, from the end.")] = 10,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Show the whole transcript.")] = False,
) -> None:
    """Show a session, its queue and the end of its transcript."""
    answer = ctx.client.get(path("sessions", session))
    session_row: Json = answer.value
    approvals: list[Json] = ctx.client.get("/api/approvals", status="pending", sessionId=session_row["id"]).value[
        "approvals"
    ]
    if ctx.json:
        # Pending approvals are added to the server's answer; without any, the answer is printed unchanged.
        output.document({**session_row, "approvals": approvals}) if approvals else output.raw(answer.raw)
        return
    _draw(ctx, session_row, None if everything else limit)
    if approvals:
        output.line("")
    for approval in approvals:
        output.line(f"{question(approval)} — {how_to_answer(approval)}", "yellow")


def _draw(ctx: CommandContext, session: Json, limit: int | None) -> None:
    from bough.api.cli.session.follow.print_transcript import TranscriptPrinter
    from bough.api.cli.session.follow.silence import silence

    settings = [session["permissionMode"], session["model"], session["effort"]]
    output.facts(
        [
            ("session", session["id"]),
            ("title", clean(session["title"])),
            ("description", clean(session["description"])),
            ("status", _status(session)),
            ("from", _origin(session)),
            ("archived", "yes" if session["archived"] else ""),
            ("preset", session["preset"] or ""),
            ("agent", f"{session['agent']} ({', '.join(clean(message) for message in settings if message)})"),
            ("headless", session["headless"] or ""),
            ("timeout", f"{session['approvalTimeout']:g} min" if session["approvalTimeout"] else ""),
            ("at a limit", {True: "resumes", False: "fails", None: ""}[session["resumeAfterLimit"]]),
            ("sandbox", _sandbox(session)),
            ("env", ", ".join(clean(name) for name in session["env"])),
            ("mcp", ", ".join(server_names(ctx.client, session["mcpServerIds"]))),
            ("context", ", ".join(clean(file.removeprefix(f"{session['cwd']}/")) for file in session["contextFiles"])),
            ("transcript", describe_size(ctx.client.get(path("sessions", session["id"], "transcript")).value)),
            ("folder", clean(session["cwd"])),
            ("and", ", ".join(clean(path) for path in session["additionalDirectories"])),
            ("repo", f"{short(session['repoId'])}  {clean(session['repo']['name'])}"),
            ("created", f"{moment(session['createdAt'])} ({ago(session['createdAt'])})"),
            (
                "ended",
                f"{moment(session['endedAt'])} ({session['metadata'].get('reason', '')})" if session["endedAt"] else "",
            ),
        ]
    )
    tasks = path("sessions", session["id"], "tasks")
    for task in ctx.client.get(tasks, status="interrupted").value["tasks"]:
        if task["parked"]:
            output.line("")
            output.line(f"Parked: {describe_limit(task['parked'])}", "yellow")
            output.line(f"To try it now: bough task retry {short(task['id'])}")
    queue: list[Json] = ctx.client.get(tasks, status="queued", limit=SHOWN_QUEUE).value["tasks"]
    if queue:
        output.line("")
        output.line(f"Queue{' (paused)' if session['queuePaused'] else ''}", "bold")
        if reason := session["metadata"].get("pauseReason"):
            output.line(f"  {reason}", "yellow")
        for task in queue:
            output.line(f"  {short(task['id'])}  {brief(task['prompt'])}")
    waiting = {task["id"] for task in queue}
    messages = [
        message for message in session["messages"] if message["taskId"] not in waiting or message["role"] != "user"
    ]
    shown = messages if limit is None else messages[max(0, len(messages) - limit) :]
    output.line("")
    if len(shown) < len(messages):
        output.line(f"{len(messages) - len(shown)} earlier messages; show them with --all.", "dim")
        output.line("")
    printer = TranscriptPrinter(output.console(), prompts=True)
    for message in shown:
        printer.message(message)
    printer.end()
    if session["activity"] == "running" and (sentence := silence(messages)) is not None:
        output.line(sentence, "yellow")


def _status(session: Json) -> str:
    """Describes what the session does, and since when it is stuck."""
    return f"{state(session)} since {moment(session['stuckSince'])}" if session["stuck"] else state(session)


def _sandbox(session: Json) -> str:
    """Describes how the session's agent was confined at its last start, and the session's own choice."""
    choices = [f"sandbox {session['sandbox']}"] if session["sandbox"] else []
    choices += [f"profile {session['sandboxProfile']}"] if session["sandboxProfile"] else []
    choice = f" ({', '.join(choices)})" if choices else ""
    reason = f": {clean(session['unconfinedReason'])}" if session["unconfinedReason"] else ""
    return f"{session['confinement'] or 'not started yet'}{choice}{reason}"


def _origin(session: Json) -> str:
    """Describes the session that this one was branched from; empty for a root."""
    if session["kind"] == "root":
        return ""
    tree = f"bough tree {short(session['rootSessionId'])}"
    if session["kind"] == "subsession":
        return f"child of session {short(session['parentSessionId'])}; see {tree}"
    source = short(session["forkedFromSessionId"])
    after = f" after task {short(session['branchTaskId'])}" if session["branchTaskId"] else ""
    return f"{'fork of' if session['kind'] == 'fork' else 'side question to'} session {source}{after}; see {tree}"


command(app, "prompt")(prompt_command.prompt)
command(app, "watch")(prompt_command.watch)


command(app, "stop")(control.stop)
command(app, "seen")(control.seen)
command(app, "unseen")(control.unseen)
command(app, "pin")(control.pin)
command(app, "unpin")(control.unpin)
command(app, "resume")(control.resume)
command(app, "complete")(control.complete)
command(app, "archive")(control.archive)
command(app, "rm")(control.remove)


@command(app, "set")
def change(
    ctx: CommandContext,
    session: SessionId,
    title: Title = None,
    description: Description = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    context: Context = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Remove all context files.")] = False,
    env: Env = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="Remove all environment variables.")] = False,
    headless: Headless = None,
    timeout: Timeout = None,
    resume_after_limit: ResumeAfterLimit = None,
    sandbox: SandboxChoice = None,
    profile: ProfileChoice = None,
    report: Annotated[
        bool | None, typer.Option("--callback/--no-callback", help="Whether it reports back to its parent.")
    ] = None,
    last: Annotated[
        bool | None, typer.Option("--last-message/--no-last-message", help="Whether reports include the last message.")
    ] = None,
    with_prompt: Annotated[
        bool | None, typer.Option("--with-prompt/--without-prompt", help="Whether reports include the prompt.")
    ] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", help="The form of its report; '' removes it.")
    ] = None,
    pause: Annotated[bool | None, typer.Option("--pause/--no-pause", help="Pause or resume the queue.")] = None,
    now: Annotated[bool, typer.Option("--now", help="Apply the mode to the running turn too.")] = False,
) -> None:
    """Change a session. Settings apply from the next prompt on. Environment variables, MCP servers and context files
    replace all earlier ones."""
    fields = {"title": title, "description": description, "permissionMode": mode, "queuePaused": pause}
    fields |= {"env": {} if no_env else parse_pairs(env), "contextFiles": [] if no_context else context or None}
    fields["mcpServerIds"] = resolve_mcp_option(ctx.client, mcp, no_mcp)
    body: Json = {name: value for name, value in fields.items() if value is not None}
    # An empty text restores the agent's default.
    body |= {name: value or None for name, value in (("model", model), ("effort", effort)) if value is not None}
    if headless is not None:
        body["headless"] = None if headless == "server" else headless
    if timeout is not None:
        body["approvalTimeout"] = parse_minutes(timeout)
    if resume_after_limit is not None:
        body["resumeAfterLimit"] = parse_choice(resume_after_limit)
    if sandbox is not None:
        body["sandbox"] = None if sandbox == "inherit" else sandbox
    if profile is not None:
        body["sandboxProfile"] = None if profile == "inherit" else profile
    if (report, last, with_prompt, instructions) != (None, None, None, None):
        callback = ctx.client.get(path("sessions", session)).value["callback"]
        body["callback"] = merge_callback(callback, report, last, with_prompt, instructions)
    if not body and not now:
        raise typer.BadParameter("Nothing to change; see: bough session set --help")
    answer = ctx.client.patch(path("sessions", session), body) if body else None
    if now or answer is None:
        answer = ctx.client.post(path("sessions", session, "mode", "apply"), {})
    ctx.show(answer, print_state)
    if mode is not None and not now and answer.value["activity"] in ("running", "waiting_permission") and not ctx.json:
        short_id = short(answer.value["id"])
        output.note(f"The running turn keeps its mode. To apply the new one now: bough session set {short_id} --now")
