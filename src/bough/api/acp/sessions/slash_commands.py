"""Commands that an editor offers behind a slash: fork, spawn, ask aside, see the tree and the queue. Whatever is no
command of ours goes to the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bough.api.acp.view.shapes import agents_commands
from bough.core.services import Services
from bough.core.trees.branch import Branch
from bough.errors import Invalid
from bough.model.session import Caller, Session
from bough.model.tree import Tree

Command = Callable[[Services, Caller, Session, str], Awaitable[str]]


async def _fork(services: Services, caller: Caller, session: Session, text: str) -> str:
    made = await services.branching.fork(caller, session.id, Branch(prompt=text or None))
    return f"Forked into session {made.session_id}" + (", which is at work on it." if text else ".")


async def _spawn(services: Services, caller: Caller, session: Session, text: str) -> str:
    made = await services.branching.spawn(caller, session.id, Branch(prompt=_needed(text, "spawn")))
    return f"Child session {made.session_id} is at work on it; its report will come here."


async def _btw(services: Services, caller: Caller, session: Session, text: str) -> str:
    await services.branching.aside(caller, session.id, Branch(prompt=_needed(text, "btw")))
    return "Asked aside; the answer will come here."


async def _tree(services: Services, _caller: Caller, session: Session, _text: str) -> str:
    tree: Tree = await services.trees.get(session.id)
    lines = [f"{len(tree.sessions)} sessions:"]
    for one in tree.sessions:
        mark = "→ " if one.id == session.id else "  "
        state = one.activity if one.status == "active" else one.status
        lines.append(f"{mark}{'  ' * one.depth}{one.title or one.id} ({one.agent}, {state}) {one.id}")
    return "\n".join(lines)


async def _queue(services: Services, _caller: Caller, session: Session, _text: str) -> str:
    page = await services.tasks.list(session.id, "queued", 50, 0)
    if not page.rows:
        return "Nothing waits."
    return "\n".join(f"{number}. {task.prompt[:100]}" for number, task in enumerate(page.rows, 1))


def _needed(text: str, name: str) -> str:
    if not text:
        raise Invalid("empty_prompt", f"Say what it should do: /{name} TEXT")
    return text


COMMANDS: dict[str, tuple[str, str | None, Command]] = {
    "fork": ("Fork this session; the fork knows the conversation", "what it should do", _fork),
    "spawn": ("Give work to a child session that reports back here", "what it should do", _spawn),
    "btw": ("Ask aside, without changing anything", "question", _btw),
    "tree": ("Show the tree of this session", None, _tree),
    "queue": ("Show the prompts that wait", None, _queue),
}


def available(session: Session) -> list[dict[str, Any]]:
    """Our commands, then those of the session's agent; of two with one name ours counts."""
    ours = [
        {"name": name, "description": about} | ({"input": {"hint": hint}} if hint else {})
        for name, (about, hint, _) in COMMANDS.items()
    ]
    theirs = agents_commands(session.metadata.offered_commands)
    return [*ours, *(one for one in theirs if one["name"] not in COMMANDS)]


def find(text: str) -> tuple[Command, str] | None:
    """The command that a prompt is, with what follows it."""
    name, *rest = text.strip().split(maxsplit=1) or [""]
    found = COMMANDS.get(name[1:]) if name.startswith("/") else None
    return (found[2], "".join(rest)) if found is not None else None
