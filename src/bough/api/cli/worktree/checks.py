"""Shows the checks and review threads of a worktree's pull request, and sends failures to its session."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext
from bough.api.cli.framework.client import SETUP_WITHIN, Json, path
from bough.api.cli.framework.formats import ago, short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.worktree.find import WorktreeId

# A thread is shown by the beginning of its last comment.
LONGEST_COMMENT = 200


def checks(
    ctx: CommandContext,
    worktree: WorktreeId,
    refresh: Annotated[bool, typer.Option("--refresh", help="Ask the server first, with your own gh or glab.")] = False,
    send: Annotated[
        bool, typer.Option("--send", help="Send new failures to the worktree's session as one prompt.")
    ] = False,
    auto: Annotated[
        Literal["on", "off", "default"] | None,
        typer.Option("--auto", help="Whether new failures are sent automatically."),
    ] = None,
) -> int:
    """Show the checks and review threads of a worktree's pull request; exits with 1 if a check failed."""
    target = path("worktrees", worktree, "checks")
    if refresh:
        ctx.client.post(f"{target}/refresh", within=SETUP_WITHIN)
    if auto is not None:
        ctx.client.patch(target, {"autoSend": {"on": True, "off": False, "default": None}[auto]})
    if send:
        sent = ctx.client.post(f"{target}/send", within=SETUP_WITHIN)
        ctx.show(sent, _print_sent)
        return DONE
    answer = ctx.client.get(target)
    ctx.show(answer, _print)
    return FAILED if answer.value and answer.value["counts"]["failed"] else DONE


def _print(request: Json | None) -> None:
    if request is None:
        output.line("No pull request is known. Look for one with --refresh.")
        return
    prompts = f"{request['prompts']} of {request['mostPrompts']}" if request["prompts"] else ""
    output.facts(
        [
            ("pull request", clean(f"{request['number']}, {request['state']}, {request['url']}")),
            ("commit", (request["head"] or "")[:12]),
            ("checks", summary(request)),
            ("asked", ago(request["checkedAt"]) if request["checkedAt"] else "never"),
            ("failed", clean(request["error"] or "")),
            ("sends", "new failures automatically" if request["sends"] else "on request"),
            ("prompts", prompts),
        ]
    )
    for check in request["checks"]:
        output.line(f"{check['status']:<8} {clean(check['name'])}")
    for thread in request["threads"]:
        where = f"{thread['path']}:{thread['line']}" if thread["path"] and thread["line"] else thread["path"] or ""
        last: Json = thread["comments"][-1]
        words = " ".join(str(last["text"]).split())[:LONGEST_COMMENT]
        output.line(clean(f"thread   {where}  {last['author']}: {words}"))
    if request["needsPerson"]:
        output.note("Five prompts about it were sent, and something is still open. A person should look.")
    elif request["unsent"]:
        output.note(f"{request['unsent']} not sent to the session yet: bough worktree checks … --send")


def _print_sent(sent: Json) -> None:
    task: Json = sent["task"]
    count = sent["checks"] + sent["threads"]
    output.line(f"Sent {count} as one prompt to session {short(task['sessionId'])}.")
    output.note(f"Watch it: bough session show {short(task['sessionId'])}")


def summary(request: Json) -> str:
    """Returns the counts of a pull request in a few words."""
    counts: Json = request["counts"]
    parts = [f"{counts[name]} {name}" for name in ("failed", "pending", "passed", "skipped") if counts[name]]
    if counts["threads"]:
        parts.append(f"{counts['threads']} open thread{'s' if counts['threads'] > 1 else ''}")
    return ", ".join(parts) or "none"
