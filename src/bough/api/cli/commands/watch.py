"""`bough watch`: prints every event of the server, one per line."""

from __future__ import annotations

import typer

from bough.api.cli.approvals.policy import conditions
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, CommandContext, command
from bough.api.cli.framework.client import Json, part, parts
from bough.api.cli.framework.formats import brief, clock, short
from bough.api.cli.session.control import state
from bough.api.cli.session.prompt import OfSession

# Growing text is not shown here, only the finished message; `bough session watch` shows it live.
LIVE = ("message.delta", "message.snapshot", "stream.ready")


def add_to(root: typer.Typer) -> None:
    command(root, "watch")(watch)


def watch(
    ctx: CommandContext,
    session: OfSession = None,
) -> int:
    """Show events live, one per line, until Ctrl-C."""
    cursor = stream.now(ctx.client)
    if not ctx.json:
        output.note("Watching. Press Ctrl-C to stop.")
    with stream.EventStream(ctx.client, session, cursor, patient=True) as events:
        try:
            while True:
                item = events.next()
                if item is None:
                    continue
                if item.kind == "event":
                    _show(ctx, item)
                elif item.kind == "lost":
                    output.note("Connection lost; reconnecting …")
                elif item.kind == "back":
                    output.note("Reconnected.")
        except KeyboardInterrupt:
            output.parting("Stopped watching; running turns continue.")
            return DONE


def _show(ctx: CommandContext, item: stream.StreamItem) -> None:
    event = item.event
    if ctx.json:
        output.raw(item.raw)
    elif event["type"] == "stream.gap":
        output.line("Some events were missed: the server no longer has them.", "yellow")
    elif event["type"] not in LIVE:
        output.line(f"{clock(event['createdAt'])}  {event['type']:<18}  {short(event['objectId'])}  {summarize(event)}")


def summarize(event: Json) -> str:
    """Summarizes an event's record in a few words."""
    noun = event["type"].partition(".")[0]
    data: Json = event["data"]
    if noun == "session":
        return brief(f"{state(data)}  {data['agent']}  {data['title']}", 120)
    if noun == "task":
        return brief(f"{data['status']}  {data['prompt']}", 120)
    if noun == "message":
        return brief(f"{data['role']}  {_summarize_message(data['content'])}", 120)
    if noun == "approval":
        return brief(f"{data['status']}  {data['title']}", 120)
    if noun == "callback":
        return brief(f"{data['state']}  {data['text']}", 120)
    if noun == "rule":
        return brief(f"{data['position']}  {data['effect']}  {conditions(data)}", 120)
    if noun == "choice":
        return brief(f"always  {data['scope']}  {data['title']}", 120)
    return brief(" ".join(str(data[name]) for name in ("name", "path") if data.get(name)), 120)


def _summarize_message(content: Json) -> str:
    kind = str(content.get("type"))
    if kind == "tool":
        status = part(content, "result").get("status") or ""
        return f"tool  {content.get('title') or content.get('tool')}  {status}"
    if kind == "plan":
        return f"plan  {len(parts(content, 'steps'))} steps"
    text = str(content.get("text") or content.get("kind") or "")
    return f"{kind}  {text}" if text else kind
