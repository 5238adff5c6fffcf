"""`bough tree` and `bough wait`: how sessions hang together and stand, and waiting for them. Making and steering them
is `bough session`."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, FAILED, Here, command
from bough.api.cli.framework.client import Answer, Json, Refused, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import amount, brief, clean, short, short_forms
from bough.api.cli.session.branch import spent
from bough.api.cli.session.control import origin, state
from bough.errors import NotFound

KINDS = {"root": "●", "fork": "fork", "subsession": "spawn", "btw": "btw"}
COLUMNS = ("SESSION", "ID", "AGENT", "STATE", "QUEUE", "ASKS", "TURNS", "TOKENS", "COST", "WORKTREE")
# Shorter than this no title is cut, however little room there is.
NARROWEST = 16
LONGEST_TITLE = 200
# Columns that are there also if they are empty.
ALWAYS = 4
# Many events come at once: what they come to is drawn once.
CALM = 0.1
PAGE = 500
# The server's longest wait; who wants to wait longer asks again.
LONGEST_WAIT = 45.0
# What is said of a server that is not there at the moment.
GONE = ("no_server", "connection_lost")

SomeSession = Annotated[
    str | None,
    typer.Argument(
        metavar="SESSION",
        help="Any session of the tree: its id, or 8 characters of it. All trees with an active session if left out.",
        autocompletion=ids("sessions", "title"),
    ),
]


def add_to(root: typer.Typer) -> None:
    command(root, "tree")(tree)
    command(root, "wait")(wait)


def tree(
    here: Here,
    session: SomeSession = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Draw it again whenever something changes, until Ctrl-C.")
    ] = False,
) -> int:
    """Draw how sessions hang together: what each is, how it stands, what waits in it, what it has used."""
    if not watch:
        _draw(here, _read(here, session))
        return DONE
    with stream.Stream(here.client, None, stream.now(here.client), patient=True) as events:
        try:
            while True:
                found = _read(here, session)
                if not here.json:
                    output.console().clear()
                _draw(here, found)
                _until_changed(events, None if session is None else found)
        except KeyboardInterrupt:
            output.parting("Left; what runs goes on.")
            return DONE


def _read(here: Here, session: str | None) -> Answer:
    """The tree of a session as the server tells it; of none, those of all active sessions under one roof."""
    if session is not None:
        return here.client.get(path("sessions", session, "tree"))
    active: list[Json] = here.client.get("/api/sessions", status="active", limit=PAGE).value["sessions"]
    roots = dict.fromkeys(one["rootSessionId"] for one in reversed(active))
    parts = [here.client.get(path("sessions", root, "tree")).raw for root in roots]
    return Answer(b'{"trees":[' + b",".join(parts) + b"]}")


def _until_changed(events: stream.Stream, found: Answer | None) -> None:
    """Waits for an event that may change the picture, and for those that come with it."""
    known = {one["id"] for one in found.value["sessions"]} if found is not None else None
    root = found.value["rootSessionId"] if found is not None else None
    changed = False
    while True:
        item = events.next(within=CALM if changed else None)
        if item is None:
            continue
        if item.kind == "quiet":
            return
        if item.kind == "lost":
            output.note("The connection is lost; trying again …")
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


def _draw(here: Here, answer: Answer) -> None:
    def render(found: Json) -> None:
        trees: list[Json] = found.get("trees", [found])
        if "trees" in found and not trees:
            output.line("No session is active. Open one with: bough session new", "dim")
        for number, one in enumerate(trees):
            if number:
                output.line("")
            draw(one)

    here.show(answer, render)


def draw(found: Json) -> None:
    """One tree with its totals."""
    nodes: list[Json] = found["sessions"]
    known = {one["id"]: one for one in nodes}
    forms = short_forms(list(known))
    below: dict[str | None, list[Json]] = {}
    for one in nodes:
        # What it hung below may have been removed.
        above = origin(one)
        below.setdefault(above if above in known else None, []).append(one)
    rows: list[list[str]] = []

    def add(node: Json, first: str, rest: str) -> None:
        said = node["title"] or node["firstPrompt"] or "–"
        named = first + brief(f"{KINDS[node['kind']]} {said}", LONGEST_TITLE)
        rows.append([named, *_facts(node, forms[node["id"]], known.get(origin(node) or ""))])
        inner = below.get(node["id"], [])
        for at, one in enumerate(inner):
            last = at == len(inner) - 1
            add(one, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

    for top in below.get(None, []):
        add(top, "", "")
    _table(rows)
    used: Json = found["used"]
    counts = ((found["running"], "running"), (found["asking"], "asking"), (found["queued"], "with a queue"))
    parts = [
        f"{used['sessions']} session{'s' if used['sessions'] != 1 else ''}",
        *(f"{count} {what}" for count, what in counts if count),
    ]
    output.line(", ".join(parts) + ". " + ". ".join(spent(used, found["budget"])), "dim")


def _table(rows: list[list[str]]) -> None:
    """Columns in which nothing stands are left out; titles are cut so that the others can be read whole."""
    used = [at for at in range(len(COLUMNS)) if at < ALWAYS or any(row[at] for row in rows)]
    beside = sum(2 + max(len(COLUMNS[at]), *(len(row[at]) for row in rows)) for at in used if at)
    room = output.width() - beside
    for row in rows:
        name = row[0]
        indent = len(name) - len(name.lstrip("│├└─ "))
        most = max(room, indent + NARROWEST)
        row[0] = name if len(name) <= most else name[: most - 1] + "…"
    output.table([COLUMNS[at] for at in used], [[row[at] for at in used] for row in rows], flexible="ID", empty="")


def _facts(node: Json, form: str, above: Json | None) -> tuple[str, ...]:
    """What stands beside a title; the worktree is named where it is another than that of what it hangs below."""
    own = node["worktreeId"] is not None and (above is None or above["worktreeId"] != node["worktreeId"])
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
    here: Here,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...", help="Tasks or sessions, or 8 characters of each.", autocompletion=ids("sessions", "title")
        ),
    ],
    any_of: Annotated[bool, typer.Option("--any", help="Until one of them is at rest, not all.")] = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", min=0, help="At most so long; else as long as it takes."),
    ] = None,
) -> int:
    """Wait until tasks have ended, or nothing runs or waits in sessions; exit 1 if time is over or a
    person is needed."""
    wanted: dict[str, list[str]] = {"taskIds": [], "sessionIds": []}
    for name in names:
        wanted[_kind(here, name)].append(name)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = LONGEST_WAIT if deadline is None else max(0.0, min(LONGEST_WAIT, deadline - time.monotonic()))
        answer = _ask(here, {**wanted, "mode": "any" if any_of else "all", "timeoutSeconds": left})
        found: Json = answer.value
        over = not found["pending"] or (any_of and found["done"])
        if over or (deadline is not None and time.monotonic() >= deadline):
            break
    here.show(answer, _say_waited)
    done = found["done"] if any_of else not found["pending"] and not found["paused"]
    return DONE if done else FAILED


def _ask(here: Here, body: Json) -> Answer:
    """One wait at the server; while that restarts, it is asked again."""
    give_up = time.monotonic() + stream.GIVE_UP_AFTER
    while True:
        try:
            return here.client.post("/api/wait", body)
        except NotFound as error:
            if error.code not in GONE or time.monotonic() > give_up:
                raise
            time.sleep(stream.FIRST_PAUSE)


def _kind(here: Here, name: str) -> str:
    """Whether a name is a task's or a session's."""
    try:
        here.client.get(path("tasks", name))
    except Refused as error:
        if error.code != "task_not_found":
            raise
        return "sessionIds"
    return "taskIds"


def _say_waited(found: Json) -> None:
    for one in found["done"]:
        noun = "Session" if one["id"] == one["sessionId"] else "Task"
        output.line(f"{noun} {short(one['id'])} is {one['status'].replace('_', ' ')}.")
    for one in found["paused"]:
        output.line(f"{short(one)} waits for a person: it is held, or its queue is paused.", "yellow")
    for one in found["pending"]:
        output.line(f"{short(one)} is still at work.", "dim")
