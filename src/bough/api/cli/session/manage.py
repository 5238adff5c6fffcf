"""`bough session`: opening, listing, showing and changing sessions. Talking with one is `prompting`, stopping and
ending one `steering`, making sessions out of it `branches`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.commands.approval import question
from bough.api.cli.commands.mcp import Mcp, NoMcp, chosen, server_names
from bough.api.cli.commands.repo import Limit, Offset, find_repo, open_repo
from bough.api.cli.commands.worktree import find_worktree
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, Here, command
from bough.api.cli.framework.client import ANSWER_WITHIN, SETUP_WITHIN, Json, path
from bough.api.cli.framework.completion import agents, ids
from bough.api.cli.framework.formats import ago, brief, clean, moment, short, short_forms
from bough.api.cli.session import control
from bough.api.cli.session import prompt as prompting
from bough.api.cli.session.control import say_state, state
from bough.api.cli.session.options import (
    Context,
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
    reports,
)
from bough.api.cli.session.prompt import Follow, SessionId, listen, spoken

SHOWN_QUEUE = 100

app = typer.Typer(no_args_is_help=True, help="Conversations with agents: open, prompt, watch, stop, end.")


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="session")


@command(app, "new")
def new(
    here: Here,
    repo: Annotated[str, typer.Option("--repo", "-r", metavar="PATH|ID", help="Where to work.")] = ".",
    worktree: Annotated[
        str | None, typer.Option("--worktree", "-w", metavar="BRANCH", help="In a new worktree of this branch.")
    ] = None,
    place: Annotated[
        str | None,
        typer.Option("--in", metavar="WORKTREE", help="In this worktree.", autocompletion=ids("worktrees", "name")),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Which agent; see bough agents.", autocompletion=agents)
    ] = None,
    title: Title = None,
    description: Description = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    context: Context = None,
    env: Env = None,
    headless: Unanswered = None,
    prompt: Annotated[str | None, typer.Option("--prompt", "-p", help="What to do first; - reads it.")] = None,
    file: Given = None,
    follow: Follow = False,
) -> int:
    """Open a session; its folder is made known if it is new."""
    if follow and prompt is None:
        raise typer.BadParameter("There is nothing to follow without a --prompt.")
    if file and prompt is None:
        raise typer.BadParameter("A --file goes with a --prompt.")
    said = spoken(prompt) if prompt is not None else None
    given = {"agent": agent, "title": title, "description": description, "permissionMode": mode, "model": model}
    given |= {"effort": effort, "env": pairs(env), "initialPrompt": said, "files": given_files(file)}
    given |= {"mcpServerIds": chosen(here.client, mcp), "contextFiles": context or None}
    given["headless"] = None if headless == "server" else headless
    body = {name: value for name, value in given.items() if value is not None}
    if place is not None and worktree is not None:
        raise typer.BadParameter("A session works in one worktree: --worktree makes one, --in is one that there is.")
    if place is not None:
        body["worktreeId"] = find_worktree(here.client, place)
    else:
        body["repoId"] = open_repo(here.client, repo)
    if worktree is not None:
        body["worktree"] = {"branch": worktree}
    cursor = stream.now(here.client) if follow else 0
    answer = here.client.post("/api/sessions", body, SETUP_WITHIN if worktree else ANSWER_WITHIN)
    opened: Json = answer.value
    if follow:
        if not here.json:
            output.note(f"Session {short(opened['id'])} ({opened['agent']}, {opened['permissionMode']}).")
        return listen(here, opened["id"], opened["taskId"], cursor)
    here.show(answer, _say_opened)
    return DONE


def _say_opened(opened: Json) -> None:
    known = short(opened["id"])
    output.line(f"Session {known}: {opened['agent']}, {opened['permissionMode']}, in {clean(opened['cwd'])}")
    hint = f"bough session watch {known}" if opened["taskId"] else f"bough session prompt {known} -f TEXT"
    output.note(f"Next: {hint}")


@command(app, "list")
def list_sessions(
    here: Here,
    repo: Annotated[str | None, typer.Option("--repo", "-r", metavar="PATH|ID", help="Only of this one.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="Only these, such as active,completed.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="The archived ones instead.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List sessions, newest first."""
    repo_id = find_repo(here.client, repo) if repo is not None else None
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
            empty="No session. Open one with: bough session new",
        )
        output.more(page, len(rows))

    here.show(here.client.get("/api/sessions", **query), render)


@command(app, "show")
def show(
    here: Here,
    session: SessionId,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="How many messages, counted from the end.")] = 10,
    everything: Annotated[bool, typer.Option("--all", "-a", help="The whole transcript.")] = False,
) -> None:
    """Show a session, its queue and the end of its transcript."""
    answer = here.client.get(path("sessions", session))
    found: Json = answer.value
    asked: list[Json] = here.client.get("/api/approvals", status="pending", sessionId=found["id"]).value["approvals"]
    if here.json:
        # What it waits for is added to the server's answer; nothing is if it waits for nobody.
        output.document({**found, "approvals": asked}) if asked else output.raw(answer.raw)
        return
    _draw(here, found, None if everything else limit)
    if asked:
        output.line("")
    for approval in asked:
        output.line(f"{question(approval)} — bough approval allow {short(approval['id'])}", "yellow")


def _draw(here: Here, found: Json, limit: int | None) -> None:
    from bough.api.cli.session.print_transcript import Talk

    settings = [found["permissionMode"], found["model"], found["effort"]]
    output.facts(
        [
            ("session", found["id"]),
            ("title", clean(found["title"])),
            ("description", clean(found["description"])),
            ("status", state(found)),
            ("from", _origin(found)),
            ("archived", "yes" if found["archived"] else ""),
            ("agent", f"{found['agent']} ({', '.join(clean(one) for one in settings if one)})"),
            ("headless", found["headless"] or ""),
            ("env", ", ".join(clean(name) for name in found["env"])),
            ("mcp", ", ".join(server_names(here.client, found["mcpServerIds"]))),
            ("context", ", ".join(clean(file.removeprefix(f"{found['cwd']}/")) for file in found["contextFiles"])),
            ("folder", clean(found["cwd"])),
            ("repo", f"{short(found['repoId'])}  {clean(found['repo']['name'])}"),
            ("opened", f"{moment(found['createdAt'])} ({ago(found['createdAt'])})"),
            (
                "ended",
                f"{moment(found['endedAt'])} ({found['metadata'].get('reason', '')})" if found["endedAt"] else "",
            ),
        ]
    )
    queue: list[Json] = here.client.get(
        path("sessions", found["id"], "tasks"), status="queued", limit=SHOWN_QUEUE
    ).value["tasks"]
    if queue:
        output.line("")
        output.line(f"Queue{' (paused)' if found['queuePaused'] else ''}", "bold")
        for task in queue:
            output.line(f"  {short(task['id'])}  {brief(task['prompt'])}")
    waiting = {task["id"] for task in queue}
    messages = [one for one in found["messages"] if one["taskId"] not in waiting or one["role"] != "user"]
    shown = messages if limit is None else messages[max(0, len(messages) - limit) :]
    output.line("")
    if len(shown) < len(messages):
        output.line(f"{len(messages) - len(shown)} earlier messages; see them with --all.", "dim")
        output.line("")
    talk = Talk(output.console(), prompts=True)
    for message in shown:
        talk.message(message)
    talk.end()


def _origin(found: Json) -> str:
    """Where a session comes from; nothing for a root."""
    if found["kind"] == "root":
        return ""
    tree = f"bough tree {short(found['rootSessionId'])}"
    if found["kind"] == "subsession":
        return f"child of session {short(found['parentSessionId'])}; see {tree}"
    source = short(found["forkedFromSessionId"])
    at = f" after task {short(found['branchTaskId'])}" if found["branchTaskId"] else ""
    return f"{'fork of' if found['kind'] == 'fork' else 'asked aside of'} session {source}{at}; see {tree}"


command(app, "prompt")(prompting.prompt)
command(app, "watch")(prompting.watch)


command(app, "stop")(control.stop)
command(app, "seen")(control.seen)
command(app, "resume")(control.resume)
command(app, "complete")(control.complete)
command(app, "archive")(control.archive)
command(app, "rm")(control.remove)


@command(app, "set")
def change(
    here: Here,
    session: SessionId,
    title: Title = None,
    description: Description = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    context: Context = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Take all context files away.")] = False,
    env: Env = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="Take all variables away.")] = False,
    headless: Unanswered = None,
    report: Annotated[bool | None, typer.Option("--callback/--no-callback", help="It reports back, or not.")] = None,
    last: Annotated[
        bool | None, typer.Option("--last-message/--no-last-message", help="Report with its last message, or without.")
    ] = None,
    with_prompt: Annotated[
        bool | None, typer.Option("--with-prompt/--without-prompt", help="Report with what it was asked, or without.")
    ] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", help="What the parent is told with each report; '' for nothing.")
    ] = None,
    pause: Annotated[bool | None, typer.Option("--pause/--no-pause", help="Let the queue wait, or go on.")] = None,
) -> None:
    """Change a session; settings count from the next prompt on. Variables, MCP servers and context files replace all
    earlier ones."""
    given = {"title": title, "description": description, "permissionMode": mode, "queuePaused": pause}
    given |= {"env": {} if no_env else pairs(env), "contextFiles": [] if no_context else context or None}
    given["mcpServerIds"] = chosen(here.client, mcp, no_mcp)
    body: Json = {name: value for name, value in given.items() if value is not None}
    # An empty text gives the choice back to the agent.
    body |= {name: value or None for name, value in (("model", model), ("effort", effort)) if value is not None}
    if headless is not None:
        body["headless"] = None if headless == "server" else headless
    if (report, last, with_prompt, instructions) != (None, None, None, None):
        known = here.client.get(path("sessions", session)).value["callback"]
        body["callback"] = reports(known, report, last, with_prompt, instructions)
    if not body:
        raise typer.BadParameter("Say what to change; see: bough session set --help")
    here.show(here.client.patch(path("sessions", session), body), say_state)
