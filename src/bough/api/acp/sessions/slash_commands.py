"""Runs Bough's slash commands in editors: fork, spawn, btw, tree and queue. All others go to the agent.
`bough.api.acp.view.commands` describes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bough.core.services import Services
from bough.core.trees.requests import NewBranch
from bough.errors import Invalid
from bough.model.session import Caller, Session
from bough.model.trees.tree import Tree

Command = Callable[[Services, Caller, Session, str], Awaitable[str]]


async def _fork(services: Services, caller: Caller, session: Session, text: str) -> str:
    created = await services.branches.fork(caller, session.id, NewBranch(prompt=text or None))
    return f"Forked into session {created.session_id}" + (", which is working on it." if text else ".")


async def _spawn(services: Services, caller: Caller, session: Session, text: str) -> str:
    created = await services.branches.spawn(caller, session.id, NewBranch(prompt=_required(text, "spawn")))
    return f"Child session {created.session_id} is working on it; its report will appear here."


async def _btw(services: Services, caller: Caller, session: Session, text: str) -> str:
    await services.branches.side_question(caller, session.id, NewBranch(prompt=_required(text, "btw")))
    return "Side question asked; the answer will appear here."


async def _tree(services: Services, _caller: Caller, session: Session, _text: str) -> str:
    tree: Tree = await services.trees.get(session.id)
    lines = [f"{len(tree.sessions)} sessions:"]
    for node in tree.sessions:
        mark = "→ " if node.id == session.id else "  "
        state = node.activity if node.status == "active" else node.status
        lines.append(f"{mark}{'  ' * node.depth}{node.title or node.id} ({node.agent}, {state}) {node.id}")
    return "\n".join(lines)


async def _queue(services: Services, _caller: Caller, session: Session, _text: str) -> str:
    page = await services.tasks.list(session.id, "queued", 50, 0)
    if not page.rows:
        return "Queue is empty."
    return "\n".join(f"{number}. {task.prompt[:100]}" for number, task in enumerate(page.rows, 1))


def _required(text: str, name: str) -> str:
    if not text:
        raise Invalid("empty_prompt", f"Write the prompt after the command: /{name} TEXT")
    return text


HANDLERS: dict[str, Command] = {"fork": _fork, "spawn": _spawn, "btw": _btw, "tree": _tree, "queue": _queue}


def find(text: str) -> tuple[Command, str] | None:
    """Returns the command of a prompt and its text, or None if it is no command."""
    name, *rest = text.strip().split(maxsplit=1) or [""]
    command = HANDLERS.get(name[1:]) if name.startswith("/") else None
    return (command, "".join(rest)) if command is not None else None
