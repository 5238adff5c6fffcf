"""Remembered choices: what people said *always* to, shown and taken back (P3). Making one is `remembering`."""

from __future__ import annotations

from typing import Any

from bough.core.policy import remember
from bough.core.policy.rules import only_people
from bough.core.store import records
from bough.core.store.paging import LARGEST_LIMIT, Page
from bough.core.store.short_ids import find
from bough.core.store.sql import CHOICES
from bough.core.store.transactions import Change, Store
from bough.model.rule import Choice, Scope
from bough.model.session import Caller
from bough.storage.backend import Tx

REACHES = (
    "agent = :agent AND (scope = 'everywhere' OR (scope = 'session' AND session_id = :session_id)"
    " OR (scope = 'worktree' AND cwd = :cwd))"
)


class Choices:
    """Lists choices and forgets them; a choice that is forgotten is asked about again at the next question."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, choice_id: str) -> Choice:
        return await self._store.read(lambda tx: find(tx, "choices", choice_id, CHOICES.get, Choice))

    async def list(self, scope: Scope | None, session_id: str | None, limit: int, offset: int) -> Page[Choice]:
        """Choices, newest first; those of a session are all that reach it, wherever they were said."""

        async def work(tx: Tx) -> Page[Choice]:
            where: list[str] = []
            params: dict[str, Any] = {}
            if scope is not None:
                where.append("scope = :scope")
                params["scope"] = scope
            if session_id is not None:
                session = await records.session(tx, session_id)
                where.append(REACHES)
                params |= {"session_id": session.id, "cwd": session.cwd, "agent": session.agent}
            text = " AND ".join(where) or "TRUE"
            found = await tx.all(CHOICES.page.with_(where=text), Choice, limit=limit, offset=offset, **params)
            return Page(found, await tx.value(CHOICES.count.with_(where=text), **params) or 0, limit, offset)

        return await self._store.read(work)

    async def remove(self, caller: Caller, choice_id: str) -> Choice:
        only_people(caller)

        async def work(change: Change) -> Choice:
            choice = await find(change.tx, "choices", choice_id, CHOICES.get, Choice)
            await change.tx.run(CHOICES.remove, id=choice.id)
            change.emit("choice.removed", choice, choice.session_id)
            if choice.scope == "session" and choice.session_id is not None:
                await remember.show(change, choice.session_id)
            return choice

        return await self._store.write(work)


async def reaching(tx: Tx, agent: str, cwd: str, session_id: str | None) -> list[Choice]:
    """What was said always to and counts for an agent in a folder, the newest at most."""
    query = CHOICES.page.with_(where=REACHES)
    return await tx.all(query, Choice, agent=agent, cwd=cwd, session_id=session_id or "", limit=LARGEST_LIMIT, offset=0)
