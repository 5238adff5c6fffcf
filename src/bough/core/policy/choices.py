"""Choices: "always" answers of people to one exact tool use. Remembers, lists and removes them."""

from __future__ import annotations

from typing import Any

from bough.core.policy.rules import only_people
from bough.core.store import records
from bough.core.store.paging import LARGEST_LIMIT, Page, read_page
from bough.core.store.short_ids import find
from bough.core.store.sql import APPROVALS, CHOICES
from bough.core.store.transactions import CHANNEL_HOSTS, Change, Store
from bough.model.approval import NETWORK_KIND, Approval
from bough.model.message import raw
from bough.model.rule import Choice, Scope
from bough.model.session import Caller, Session
from bough.model.values.ids import new_id
from bough.storage.backend import Tx

REACHES = (
    "agent = :agent AND (scope = 'everywhere' OR (scope = 'session' AND session_id = :session_id)"
    " OR (scope = 'worktree' AND cwd = :cwd))"
)

# One answer is stored once, so the choice may be an earlier approval's.
ANSWERS = (
    "key = :key AND agent = :of_agent AND (scope = 'everywhere' OR (scope = 'session' AND session_id = :of_session)"
    " OR (scope = 'worktree' AND cwd = :of_cwd))"
)

REACHES_ANYWHERE = (
    "agent = :agent AND (scope IN ('everywhere', 'worktree') OR (scope = 'session' AND session_id = :session_id))"
)


class Choices:
    """Lists and removes choices; what a removed choice allowed is asked about again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, choice_id: str) -> Choice:
        return await self._store.read(lambda tx: find(tx, "choices", choice_id, CHOICES.get, Choice))

    async def list(
        self, scope: Scope | None, session_id: str | None, approval_id: str | None, limit: int, offset: int
    ) -> Page[Choice]:
        """Returns a page of choices, newest first; with a session, all that reach it, wherever they were made; with an
        approval, all that would answer it now."""

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
            if approval_id is not None:
                approval = await find(tx, "approvals", approval_id, APPROVALS.get, Approval)
                asker = await records.session(tx, approval.session_id)
                where += [f"({ANSWERS})"]
                params |= {"key": approval.key, "of_session": asker.id, "of_cwd": asker.cwd, "of_agent": asker.agent}
            text = " AND ".join(where) or "TRUE"
            page, count = CHOICES.page.with_(where=text), CHOICES.count.with_(where=text)
            return await read_page(tx, page, count, Choice, limit, offset, **params)

        return await self._store.read(work)

    async def remove(self, caller: Caller, choice_id: str) -> Choice:
        only_people(caller)

        async def work(change: Change) -> Choice:
            choice = await find(change.tx, "choices", choice_id, CHOICES.get, Choice)
            await change.tx.run(CHOICES.remove, id=choice.id)
            change.emit("choice.removed", choice, choice.session_id)
            change.audit(
                caller, "choice.removed", session_id=choice.session_id, subject_id=choice.id, scope=choice.scope
            )
            if choice.tool_kind == NETWORK_KIND:
                change.tx.notify(CHANNEL_HOSTS, "")
            if choice.scope == "session" and choice.session_id is not None:
                await _show(change, choice.session_id)
            return choice

        return await self._store.write(work)


async def reaching(tx: Tx, agent: str, cwd: str | None, session_id: str | None) -> list[Choice]:
    """Returns the choices that apply to an agent in a folder, or in any without one, the newest first, up to the page
    limit."""
    place = {} if cwd is None else {"cwd": cwd}
    query = CHOICES.page.with_(where=REACHES_ANYWHERE if cwd is None else REACHES)
    return await tx.all(query, Choice, agent=agent, session_id=session_id or "", limit=LARGEST_LIMIT, offset=0, **place)


async def matching(tx: Tx, session: Session, key: str | None) -> list[Choice]:
    """Returns the choices for exactly this tool use that apply to a session, oldest first."""
    agent, session_id, cwd = session.agent, session.id, session.cwd
    return await tx.all(CHOICES.matching, Choice, key=key, agent=agent, session_id=session_id, cwd=cwd)


async def remember(change: Change, approval: Approval, session: Session, scope: Scope) -> Choice | None:
    """Stores a choice, once; returns None for an approval without a key, which cannot be recognized again."""
    if approval.key is None:
        return None
    for known in await matching(change.tx, session, approval.key):
        if known.scope == scope:
            return known
    choice = await change.tx.one(
        CHOICES.add,
        Choice,
        id=new_id(),
        scope=scope,
        session_id=session.id if scope == "session" else None,
        cwd=session.cwd if scope == "worktree" else None,
        agent=session.agent,
        tool_kind=approval.tool_kind,
        title=approval.title,
        key=approval.key,
        approval_id=approval.id,
        decided_by=approval.decided_by,
        now=change.now,
    )
    assert choice is not None
    change.emit("choice.created", choice, choice.session_id)
    if scope == "session":
        await _show(change, session.id)
    return choice


async def _show(change: Change, session_id: str) -> Session:
    """Updates the list of allowed tools that a session shows."""
    known = await change.tx.all(CHOICES.of_session, Choice, session_id=session_id)
    return await records.update_session(change, session_id, allowed_tools=raw([choice.key for choice in known]))
