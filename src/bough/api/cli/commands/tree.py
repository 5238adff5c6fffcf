"""`bough tree` and `bough wait`: draws trees of sessions with their state and usage, and waits for sessions."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.client import Json, Refused, Response, path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import amount, brief, short, short_forms
from bough.api.cli.framework.selectors import MAY_BE_ID, SESSION, find
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.session.branch import spent
from bough.api.cli.session.control import origin, state
from bough.errors import NotFound

KINDS = {"root": "●", "fork": "fork", "subsession": "spawn", "btw": "btw"}
COLUMNS = ("SESSION", "ID", "AGENT", "STATE", "QUEUE", "ASKS", "TURNS", "TOKENS", "COST", "WORKTREE")
LONGEST_TITLE = 200
# The first columns, which are shown even if they are empty.
ALWAYS = 4
# Seconds; many events arrive at once, and the tree is drawn once for all of them.
CALM = 0.1
PAGE = 500
# The server's longest wait in seconds; for longer waits the request is repeated.
LONGEST_WAIT = 45.0
# Error codes of a server that is not reachable at the moment.
GONE = ("no_server", "connection_lost")

SomeSession = Annotated[
    str | None,
    SESSION,
    typer.Argument(
        metavar="SESSION",
        help="Any session of the tree. Defaults to all trees with an active session.",
        autocompletion=names("session"),
    ),
]


def add_to(root: typer.Typer) -> None:
    command(root, "tree")(tree)
    command(root, "wait")(wait)


def tree(
    ctx: CommandContext,
    session: SomeSession = None,
    watch: Annotated[bool, typer.Option("--watch", help="Redraw on every change, until Ctrl-C.")] = False,
) -> int:
    """Draw trees of sessions with their state, queue and usage."""
    if not watch:
        _draw(ctx, _read(ctx, session))
        return DONE
    with stream.EventStream(ctx.client, None, stream.now(ctx.client), patient=True) as events:
        try:
            while True:
                answer = _read(ctx, session)
                if not ctx.json:
                    output.console().clear()
                _draw(ctx, answer)
                _until_changed(events, None if session is None else answer)
        except KeyboardInterrupt:
            output.parting("Stopped watching; running turns continue.")
            return DONE


def _read(ctx: CommandContext, session: str | None) -> Response:
    """Returns the tree of a session, or the trees of all active sessions in one answer."""
    if session is not None:
        return ctx.client.get(path("sessions", session, "tree"))
    active: list[Json] = ctx.client.get("/api/sessions", status="active", limit=PAGE).value["sessions"]
    roots = dict.fromkeys(row["rootSessionId"] for row in reversed(active))
    parts = [ctx.client.get(path("sessions", root, "tree")).raw for root in roots]
    return Response(b'{"trees":[' + b",".join(parts) + b"]}")


def _until_changed(events: stream.EventStream, answer: Response | None) -> None:
    """Waits for an event that may change the tree, and for the events right after it."""
    known = {session["id"] for session in answer.value["sessions"]} if answer is not None else None
    root = answer.value["rootSessionId"] if answer is not None else None
    changed = False
    while True:
        item = events.next(within=CALM if changed else None)
        if item is None:
            continue
        if item.kind == "quiet":
            return
        if item.kind == "lost":
            output.note("Connection lost; reconnecting …")
        changed = changed or item.kind == "back" or (item.kind == "event" and _matters(item.event, known, root))


def _matters(event: Json, known: set[str] | None, root: str | None) -> bool:
    noun = event["type"].partition(".")[0]
    if event["type"] == "stream.gap":
        return True
    if noun not in ("session", "task", "approval", "tree", "callback"):
        return False
    if known is None or event["sessionId"] in known:
        return True
    return noun == "session" and event["data"].get("rootSessionId") == root


def _draw(ctx: CommandContext, answer: Response) -> None:
    def render(value: Json) -> None:
        trees: list[Json] = value.get("trees", [value])
        if "trees" in value and not trees:
            output.line("No active sessions. Create one: bough session new", "dim")
        for number, tree_row in enumerate(trees):
            if number:
                output.line("")
            print_tree(tree_row)

    ctx.show(answer, render)


def print_tree(tree_row: Json) -> None:
    """Prints one tree with its totals."""
    nodes: list[Json] = tree_row["sessions"]
    known = {node["id"]: node for node in nodes}
    forms = short_forms(list(known))
    below: dict[str | None, list[Json]] = {}
    for node in nodes:
        # The session above it may have been deleted.
        parent = origin(node)
        below.setdefault(parent if parent in known else None, []).append(node)
    rows: list[list[str]] = []

    def add(node: Json, first: str, rest: str) -> None:
        title = node["title"] or node["firstPrompt"] or "–"
        label = first + brief(f"{KINDS[node['kind']]} {title}", LONGEST_TITLE)
        rows.append([label, *_cells(node, forms[node["id"]], known.get(origin(node) or ""))])
        inner = below.get(node["id"], [])
        for index, node in enumerate(inner):
            last = index == len(inner) - 1
            add(node, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

    for top in below.get(None, []):
        add(top, "", "")
    _table(rows)
    used: Json = tree_row["used"]
    counts = (
        (tree_row["running"], "running"),
        (tree_row["asking"], "waiting for approval"),
        (tree_row["queued"], "with a queue"),
    )
    parts = [
        f"{used['sessions']} session{'s' if used['sessions'] != 1 else ''}",
        *(f"{count} {noun}" for count, noun in counts if count),
    ]
    output.line(", ".join(parts) + ". " + ". ".join(spent(used, tree_row["budget"])), "dim")


def _table(rows: list[list[str]]) -> None:
    """Prints the table without empty columns."""
    used = [index for index in range(len(COLUMNS)) if index < ALWAYS or any(row[index] for row in rows)]
    names = [COLUMNS[index] for index in used]
    output.table(names, [[row[index] for index in used] for row in rows], flexible="SESSION", empty="")


def _cells(node: Json, form: str, parent: Json | None) -> tuple[str, ...]:
    """Returns the other cells of a row; the worktree is named only if it differs from the one above."""
    own = node["worktreeId"] is not None and (parent is None or parent["worktreeId"] != node["worktreeId"])
    return (
        form,
        node["agent"],
        "archived" if node["archived"] else state(node),
        _count(node["queued"]) + (" paused" if node["queuePaused"] and node["status"] == "active" else ""),
        _count(node["asking"]),
        _count(node["turns"]),
        amount(node["tokens"]) if node["tokens"] else "",
        f"{node['cost']:.2f}" if node["cost"] else "",
        f"⎇ {clean(node['cwd'].rpartition('/')[2])}" if own else "",
    )


def _count(number: int) -> str:
    return str(number) if number else ""


def wait(
    ctx: CommandContext,
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TASK|SESSION...",
            help="Task ids, or sessions as other commands take them.",
            autocompletion=names("session"),
        ),
    ],
    any_of: Annotated[bool, typer.Option("--any", help="Wait until one of them is done instead of all.")] = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum time to wait; no limit by default."),
    ] = None,
) -> int:
    """Wait until tasks have ended, or sessions are idle with an empty queue; exit 1 if the time is up, or at once if a
    person is needed."""
    ids_by_kind: dict[str, list[str]] = {"taskIds": [], "sessionIds": []}
    for text in texts:
        field, full_id = _identify(ctx, text)
        ids_by_kind[field].append(full_id)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = LONGEST_WAIT if deadline is None else max(0.0, min(LONGEST_WAIT, deadline - time.monotonic()))
        how = {"mode": "any" if any_of else "all", "timeoutSeconds": left, "untilApproval": True}
        answer = _ask(ctx, {**ids_by_kind, **how})
        state_now: Json = answer.value
        is_done = not state_now["pending"] or (any_of and state_now["done"]) or state_now["approvals"]
        if is_done or (deadline is not None and time.monotonic() >= deadline):
            break
    ctx.show(answer, _print_waited)
    done = state_now["done"] if any_of else not state_now["pending"] and not state_now["paused"]
    return DONE if done else FAILED


def _ask(ctx: CommandContext, body: Json) -> Response:
    """Sends one wait request; repeats it while the server restarts."""
    give_up = time.monotonic() + stream.GIVE_UP_AFTER
    while True:
        try:
            return ctx.client.post("/api/wait", body)
        except NotFound as error:
            if error.code not in GONE or time.monotonic() > give_up:
                raise
            time.sleep(stream.FIRST_PAUSE)


def _identify(ctx: CommandContext, text: str) -> tuple[str, str]:
    """Returns the request field for what a text names, a task or a session, and its id."""
    if MAY_BE_ID.fullmatch(text):
        try:
            return "taskIds", ctx.client.get(path("tasks", text)).value["id"]
        except Refused as error:
            if error.code != "task_not_found":
                raise
    return "sessionIds", find(ctx.client, SESSION, text)


def _print_waited(result: Json) -> None:
    for done in result["done"]:
        noun = "Session" if done["id"] == done["sessionId"] else "Task"
        output.line(f"{noun} {short(done['id'])} is {done['status'].replace('_', ' ')}.")
    for approval in result["approvals"]:
        about = f"Session {short(approval['sessionId'])} waits for your approval: {brief(approval['title'], 60)}"
        output.line(f"{about} — bough approval allow {short(approval['id'])}", "yellow")
    for paused_id in result["paused"]:
        output.line(f"{short(paused_id)} needs a person: it is held, or its queue is paused.", "yellow")
    for pending_id in result["pending"]:
        output.line(f"{short(pending_id)} is still running.", "dim")
