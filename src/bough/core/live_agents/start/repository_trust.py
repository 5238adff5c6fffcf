"""Asks a person before an agent is started in a repository that brings code for it, since that code would run whatever
the agent's mode is (P3). The catalog lists the files; the turn is held until the answer."""

from __future__ import annotations

import asyncio
import os

from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.repository_files import digest, find_files
from bough.core.approvals.kinds import TRUST
from bough.core.policy import choices
from bough.core.store.transactions import Change, Store
from bough.errors import Denied
from bough.git.decode import escaped
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings

MOST_NAMED = 5


class Untrusted(Denied):
    """Raised when a repository brings code for an agent that no person has approved."""

    def __init__(self, entry: CatalogEntry, files: list[str], cwd: str, key: str) -> None:
        # Names of files need not be valid UTF-8.
        files = [escaped(file) for file in files]
        names = ", ".join(os.path.relpath(file, cwd) for file in files[:MOST_NAMED])
        more = f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
        text = f"{entry.title} would run code that this repository brings: {names}{more}."
        super().__init__("repository_untrusted", text, files=files)
        self.files = files
        self.key = key


async def check(store: Store, entry: CatalogEntry, session: Session) -> None:
    """Raises `Untrusted` if the agent would run code of the folder that no person has approved in its current form."""
    files = await asyncio.to_thread(find_files, session.cwd, entry.repository.ask)
    if not files:
        return
    key = f"{TRUST.name}: {await asyncio.to_thread(digest, files)}"
    if not await store.read(lambda tx: choices.matching(tx, session, key)):
        raise Untrusted(entry, files, session.cwd, key)


async def ask(change: Change, task: Task, error: Untrusted, settings: Settings) -> None:
    """Holds the turn until a person has decided about the files."""
    await TRUST.ask(change, task, settings, message=error.message, files=error.files, key=error.key)
