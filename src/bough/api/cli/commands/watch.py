"""`bough watch`: everything that happens on the server, one line per event. One session's answers in full are
`bough session watch`."""

from __future__ import annotations

import typer

from bough.api.cli.commands.policy import conditions
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, Here, command
from bough.api.cli.framework.client import Json, part, parts
from bough.api.cli.framework.formats import brief, clock, short
from bough.api.cli.session.prompt import OfSession

# Text on its way has lines of its own in `session watch`; here its message says it when it is whole.
LIVE = ("message.delta", "message.snapshot", "stream.ready")


def add_to(root: typer.Typer) -> None:
    command(root, "watch")(watch)


def watch(
    here: Here,
    session: OfSession = None,
) -> int:
    """Show what happens as it happens, one line per event, until Ctrl-C."""
    cursor = stream.now(here.client)
    if not here.json:
        output.note("Watching from now on. Ctrl-C leaves.")
    with stream.Stream(here.client, session, cursor, patient=True) as events:
        try:
            while True:
                item = events.next()
                if item is None:
                    continue
                if item.kind == "event":
                    _show(here, item)
                elif item.kind == "lost":
                    output.note("The connection is lost; trying again …")
                elif item.kind == "back":
                    output.note("Connected again.")
        except KeyboardInterrupt:
            output.parting("Left; what runs goes on.")
            return DONE


def _show(here: Here, item: stream.Item) -> None:
    event = item.event
    if here.json:
        output.raw(item.raw)
    elif event["type"] == "stream.gap":
        output.line("Some events are no longer kept and were missed.", "yellow")
    elif event["type"] not in LIVE:
        output.line(f"{clock(event['createdAt'])}  {event['type']:<18}  {short(event['objectId'])}  {what(event)}")


def what(event: Json) -> str:
    """The event's record in a few words."""
    noun = event["type"].partition(".")[0]
    data: Json = event["data"]
    if noun == "session":
        state = data["activity"] if data["status"] == "active" else data["status"]
        return brief(f"{state}  {data['agent']}  {data['title']}", 120)
    if noun == "task":
        return brief(f"{data['status']}  {data['prompt']}", 120)
    if noun == "message":
        return brief(f"{data['role']}  {_said(data['content'])}", 120)
    if noun == "approval":
        return brief(f"{data['status']}  {data['title']}", 120)
    if noun == "callback":
        return brief(f"{data['state']}  {data['text']}", 120)
    if noun == "rule":
        return brief(f"{data['position']}  {data['effect']}  {conditions(data)}", 120)
    if noun == "choice":
        return brief(f"always  {data['scope']}  {data['title']}", 120)
    return brief(" ".join(str(data[name]) for name in ("name", "path") if data.get(name)), 120)


def _said(content: Json) -> str:
    kind = str(content.get("type"))
    if kind == "tool":
        status = part(content, "result").get("status") or ""
        return f"tool  {content.get('title') or content.get('tool')}  {status}"
    if kind == "plan":
        return f"plan  {len(parts(content, 'steps'))} steps"
    text = str(content.get("text") or content.get("kind") or "")
    return f"{kind}  {text}" if text else kind
