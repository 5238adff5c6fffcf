"""Exports a session: everything as JSON, or the conversation as Markdown."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bough.core.store import records
from bough.core.store.session_secrets import shown_task
from bough.core.store.sql import MESSAGES, REPOS, TASKS
from bough.core.store.transactions import Store
from bough.core.transcripts.inherited import inherited
from bough.core.transcripts.read import END
from bough.model.message import Message, files_of
from bough.model.repo import Repo
from bough.model.session import Session
from bough.model.task import Task
from bough.storage.backend import Tx


class Export(msgspec.Struct, rename="camel"):
    """One session with everything that belongs to it."""

    format: str
    session: Session
    repo: Repo | None
    tasks: list[Task]
    # The messages that a fork inherited; each names the session it comes from.
    inherited: list[Message]
    messages: list[Message]


async def export(store: Store, session_id: str, form: Literal["json", "markdown"]) -> bytes:
    async def work(tx: Tx) -> Export:
        session = await records.session(tx, session_id)
        repo = await tx.one(REPOS.get, Repo, id=session.repo_id)
        query = TASKS.of_session.with_(where="session_id = :session_id")
        tasks = await tx.all(query, Task, session_id=session.id, limit=END, offset=0)
        # Messages are stored without secret values; a prompt is stored as the agent receives it.
        tasks = [await shown_task(tx, task) for task in tasks]
        messages = await tx.all(MESSAGES.all, Message, session_id=session.id)
        return Export("bough/1", session, repo, tasks, await inherited(tx, session), messages)

    exported = await store.read(work, long=True)
    return msgspec.json.encode(exported) if form == "json" else markdown(exported).encode()


def markdown(exported: Export) -> str:
    session = exported.session
    parts = [
        f"# {session.title or 'Session ' + session.id}",
        f"{session.agent} in `{session.cwd}`, {session.status}, opened {session.created_at}.",
    ]
    if exported.inherited:
        parts.append(f"Everything up to the next line was inherited from session {session.forked_from_session_id}.")
        parts += _spoken(exported.inherited)
        parts.append("---")
    parts += _spoken(exported.messages)
    return "\n\n".join(part for part in parts if part) + "\n"


def _spoken(messages: list[Message]) -> list[str]:
    return [_part(message, msgspec.json.decode(message.content)) for message in messages]


def _part(message: Message, content: dict[str, Any]) -> str:
    kind = content.get("type")
    if kind == "text":
        named = "".join(f"\n\n- {item.described}" for item in files_of(content))
        return f"## {'You' if message.role == 'user' else 'Agent'}\n\n{content.get('text', '')}{named}"
    if kind == "thought":
        return "\n".join(f"> {line}" for line in str(content.get("text", "")).splitlines())
    if kind == "tool":
        result: dict[str, Any] = content.get("result") or {}
        status = result.get("status", "")
        return f"- **{content.get('title') or content.get('tool')}** {status}"
    if kind == "plan":
        steps: list[dict[str, Any]] = content.get("steps") or []
        return "\n".join(
            f"- [{'x' if step.get('status') == 'completed' else ' '}] {step.get('content')}" for step in steps
        )
    return f"_{content.get('text', '')}_" if content.get("text") else ""
