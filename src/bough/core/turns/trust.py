"""Asks a person before an agent is started in a repository that brings code for it, since that code would run whatever
the agent's mode is (P3). The catalog lists the files; the turn is held until the answer."""

from __future__ import annotations

import asyncio
import os

from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.repository_files import digest, find_files
from bough.core.policy.deadlines import deadline
from bough.core.state.interruption import TRUST, hold
from bough.core.store import records
from bough.core.store.sql import CHOICES
from bough.core.store.transactions import CHANNEL_APPROVALS, Change, Store
from bough.errors import Denied
from bough.model.approval import Option
from bough.model.rule import Choice
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings

OPTIONS = [Option("trust", "Run it", "allow_once"), Option("drop", "Drop the prompt", "reject_once")]
MOST_NAMED = 5


class Untrusted(Denied):
    """Raised when a repository brings code for an agent that no person has approved."""

    def __init__(self, entry: CatalogEntry, files: list[str], cwd: str, key: str) -> None:
        shown = ", ".join(os.path.relpath(file, cwd) for file in files[:MOST_NAMED])
        more = f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
        text = f"{entry.title} would run code that this repository brings: {shown}{more}."
        super().__init__("repository_untrusted", text, files=files)
        self.files = files
        self.key = key


async def check(store: Store, entry: CatalogEntry, session: Session) -> None:
    """Raises `Untrusted` if the agent would run code of the folder that no person has approved in its current form."""
    files = await asyncio.to_thread(find_files, session.cwd, entry.repository.ask)
    if not files:
        return
    key = f"{TRUST}: {await asyncio.to_thread(digest, files)}"
    known = await store.read(
        lambda tx: tx.all(CHOICES.matching, Choice, key=key, agent=entry.name, session_id=session.id, cwd=session.cwd)
    )
    if not known:
        raise Untrusted(entry, files, session.cwd, key)


async def ask(change: Change, task: Task, error: Untrusted, settings: Settings) -> None:
    """Holds the turn until a person has decided about the files."""
    held = await hold(change, task)
    if held is None:
        return
    session = await records.session(change.tx, task.session_id)
    expires_at, on_expiry = deadline(session, settings)
    approval = await records.add_approval(
        change,
        held,
        title=f"{error.message} Run it?",
        tool_kind=TRUST,
        tool_call={"title": error.message, "locations": [{"path": file} for file in error.files]},
        options=OPTIONS,
        request_id=None,
        reason="In any mode, this code runs with the rights of the server's user. If you allow it, that is remembered "
        "for this folder until one of these files changes; files that they load from elsewhere are not watched.",
        key=error.key,
        expires_at=expires_at,
        on_expiry="deny" if on_expiry else None,
    )
    await records.update_session(change, session.id, activity="waiting_permission")
    if expires_at is not None:
        change.tx.notify(CHANNEL_APPROVALS, approval.id)
