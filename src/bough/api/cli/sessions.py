"""`bough session`: opening, listing, showing and steering sessions. Talking with one is `prompting`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from bough.api.cli import out, prompting, stream
from bough.api.cli.approvals import question
from bough.api.cli.base import DONE, Here, command
from bough.api.cli.client import ANSWER_WITHIN, SETUP_WITHIN, Json, Refused, path
from bough.api.cli.completing import agents, ids
from bough.api.cli.prompting import Follow, SessionId, listen, spoken
from bough.api.cli.repos import Limit, Offset, find_repo, open_repo
from bough.api.cli.words import ago, brief, clean, moment, short, short_forms
from bough.api.cli.worktrees import find_worktree, name_what_would_be_lost, say_removed
from bough.model.session import MODES, PermissionMode

SHOWN_QUEUE = 100

app = typer.Typer(no_args_is_help=True, help="Conversations with agents: open, prompt, watch, stop, end.")
Mode = Annotated[
    PermissionMode | None, typer.Option("--mode", "-m", help=f"What it may do without asking: {', '.join(MODES)}.")
]
Title = Annotated[str | None, typer.Option("--title", "-t", help="What it is about.")]
Description = Annotated[str | None, typer.Option("--description", help="More about it.")]
Model = Annotated[str | None, typer.Option("--model", help="Model, as the agent names it.")]
Effort = Annotated[str | None, typer.Option("--effort", help="Effort, as the agent names it.")]
Unanswered = Annotated[
    Literal["wait", "deny", "allow", "server"] | None,
    typer.Option(
        "--headless",
        metavar="wait|deny|allow|server",
        help="What becomes of questions that nobody answers in time; server leaves it to the server's setting.",
    ),
]
Env = Annotated[list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="Variable for the agent; repeat.")]


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
    env: Env = None,
    headless: Unanswered = None,
    prompt: Annotated[str | None, typer.Option("--prompt", "-p", help="What to do first; - reads it.")] = None,
    follow: Follow = False,
) -> int:
    """Open a session; its folder is made known if it is new."""
    if follow and prompt is None:
        raise typer.BadParameter("There is nothing to follow without a --prompt.")
    said = spoken(prompt) if prompt is not None else None
    given = {"agent": agent, "title": title, "description": description, "permissionMode": mode, "model": model}
    given |= {"effort": effort, "env": _variables(env), "initialPrompt": said}
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
            out.note(f"Session {short(opened['id'])} ({opened['agent']}, {opened['permissionMode']}).")
        return listen(here, opened["id"], opened["taskId"], cursor)
    here.show(answer, _say_opened)
    return DONE


def _say_opened(opened: Json) -> None:
    known = short(opened["id"])
    out.line(f"Session {known}: {opened['agent']}, {opened['permissionMode']}, in {clean(opened['cwd'])}")
    hint = f"bough session watch {known}" if opened["taskId"] else f"bough session prompt {known} -f TEXT"
    out.note(f"Next: {hint}")


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
        out.table(
            ("ID", "AGENT", "STATUS", "MODE", "MESSAGES", "ACTIVE", "TITLE"),
            [
                (
                    ids[row["id"]],
                    row["agent"],
                    _state(row),
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
        out.more(page, len(rows))

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
        out.document({**found, "approvals": asked}) if asked else out.raw(answer.raw)
        return
    _draw(here, found, None if everything else limit)
    if asked:
        out.line("")
    for approval in asked:
        out.line(f"{question(approval)} — bough approval allow {short(approval['id'])}", "yellow")


def _draw(here: Here, found: Json, limit: int | None) -> None:
    from bough.api.cli.talk import Talk

    settings = [found["permissionMode"], found["model"], found["effort"]]
    out.facts(
        [
            ("session", found["id"]),
            ("title", clean(found["title"])),
            ("description", clean(found["description"])),
            ("status", _state(found)),
            ("archived", "yes" if found["archived"] else ""),
            ("agent", f"{found['agent']} ({', '.join(clean(one) for one in settings if one)})"),
            ("headless", found["headless"] or ""),
            ("env", ", ".join(clean(name) for name in found["env"])),
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
        out.line("")
        out.line(f"Queue{' (paused)' if found['queuePaused'] else ''}", "bold")
        for task in queue:
            out.line(f"  {short(task['id'])}  {brief(task['prompt'])}")
    waiting = {task["id"] for task in queue}
    messages = [one for one in found["messages"] if one["taskId"] not in waiting or one["role"] != "user"]
    shown = messages if limit is None else messages[max(0, len(messages) - limit) :]
    out.line("")
    if len(shown) < len(messages):
        out.line(f"{len(messages) - len(shown)} earlier messages; see them with --all.", "dim")
        out.line("")
    talk = Talk(out.console(), prompts=True)
    for message in shown:
        talk.message(message)
    talk.end()


command(app, "prompt")(prompting.prompt)
command(app, "watch")(prompting.watch)


@command(app, "stop")
def stop(here: Here, session: SessionId) -> None:
    """Stop the running turn; what is queued waits for the next prompt or for resume."""

    def render(answer: Json) -> None:
        task: Json | None = answer["task"]
        said = f"Task {short(task['id'])} is {task['status']}." if task else "No turn was running."
        out.line(f"{said} The queue is paused." if answer["session"]["queuePaused"] else said)

    here.show(here.client.post(path("sessions", session, "stop")), render)


@command(app, "resume")
def resume(here: Here, session: SessionId) -> None:
    """Let a paused queue go on, or reopen a session that has ended."""
    here.show(here.client.post(path("sessions", session, "resume")), _say_state)


@command(app, "complete")
def complete(
    here: Here,
    session: SessionId,
    force: Annotated[bool, typer.Option("--force", help="Cancel what still runs or waits.")] = False,
) -> None:
    """End a session as completed."""
    here.show(here.client.post(path("sessions", session, "complete"), {"force": force}), _say_state)


@command(app, "archive")
def archive(
    here: Here,
    session: SessionId,
    undo: Annotated[bool, typer.Option("--undo", help="Take it out of the archive again.")] = False,
) -> None:
    """Put a session away; lists leave it out from then on."""
    answer = here.client.post(path("sessions", session, "archive"), {"archived": not undo})
    said = "is out of the archive" if undo else "is archived"
    here.show(answer, lambda found: out.line(f"Session {short(found['id'])} {said}."))


@command(app, "rm")
def remove(
    here: Here,
    session: SessionId,
    purge: Annotated[bool, typer.Option("--purge", help="Remove it for good, transcript and all.")] = False,
    worktree: Annotated[bool, typer.Option("--worktree", help="Remove its worktree too.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="The worktree also with work in it, which is kept and can be recovered.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a purge.")] = False,
) -> None:
    """Cancel a session: its agent is told, its turn and its queue are cancelled."""
    if purge and not yes:
        found: Json = here.client.get(path("sessions", session)).value
        title = f" ({brief(found['title'], 60)})" if found["title"] else ""
        about = f"session {short(found['id'])}{title} with {len(found['messages'])} messages"
        typer.confirm(f"Remove {about} for good?", abort=True, err=True)
    also = {"worktree": "remove", "force": force} if worktree else {}
    try:
        answer = here.client.delete(path("sessions", session), purge=purge, **also)
    except Refused as error:
        name_what_would_be_lost(error)
        raise

    def render(found: Json) -> None:
        out.line(f"Session {short(found['id'])} is removed.") if purge else _say_state(found)
        if found["worktree"] is not None:
            say_removed(found["worktree"])

    here.show(answer, render)


@command(app, "set")
def change(
    here: Here,
    session: SessionId,
    title: Title = None,
    description: Description = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    env: Env = None,
    headless: Unanswered = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="Take all variables away.")] = False,
    pause: Annotated[bool | None, typer.Option("--pause/--no-pause", help="Let the queue wait, or go on.")] = None,
) -> None:
    """Change a session; settings count from the next prompt on, variables replace all earlier ones."""
    variables = {} if no_env else _variables(env)
    given = {"title": title, "description": description, "permissionMode": mode, "env": variables, "queuePaused": pause}
    body = {name: value for name, value in given.items() if value is not None}
    # An empty text gives the choice back to the agent.
    body |= {name: value or None for name, value in (("model", model), ("effort", effort)) if value is not None}
    if headless is not None:
        body["headless"] = None if headless == "server" else headless
    if not body:
        raise typer.BadParameter("Say what to change; see: bough session set --help")
    here.show(here.client.patch(path("sessions", session), body), _say_state)


def _state(found: Json) -> str:
    return found["activity"] if found["status"] == "active" else found["status"]


def _say_state(found: Json) -> None:
    title = f" ({brief(found['title'], 60)})" if found["title"] else ""
    out.line(
        f"Session {short(found['id'])}{title} is {_state(found).replace('_', ' ')}, mode {found['permissionMode']}."
    )


def _variables(given: list[str] | None) -> dict[str, str] | None:
    if not given:
        return None
    pairs = [one.partition("=") for one in given]
    wrong = [name for name, sign, _ in pairs if not sign or not name]
    if wrong:
        raise typer.BadParameter(f"A variable is written NAME=VALUE, not {wrong[0]!r}.")
    return {name: value for name, _, value in pairs}
