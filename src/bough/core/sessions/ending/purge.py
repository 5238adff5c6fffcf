"""Deletes sessions for good, unless others that were forked or spawned from them still exist."""

from __future__ import annotations

from bough.core.sessions.ending.control import Control
from bough.core.state.limits import budgets
from bough.core.store import records
from bough.core.store.sql import APPROVALS, EVENTS, MESSAGES, SESSIONS, TASKS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx


class Purging:
    """Cancels sessions and deletes their rows."""

    def __init__(self, store: Store, control: Control) -> None:
        self._store = store
        self._control = control

    async def check(self, session_id: str) -> None:
        """Raises if `purge` would be refused."""
        await self._store.read(lambda tx: _childless(tx, session_id))

    async def purge(self, caller: Caller, session_id: str) -> Session:
        """Deletes a session with its transcript and events. Files that its agent keeps elsewhere stay."""
        # Checked first, so that a refused session is not cancelled.
        await self.check(session_id)
        session = await self._control.cancel(caller, session_id)

        async def work(change: Change) -> None:
            fresh = await _childless(change.tx, session_id)
            if fresh.status == "active" or await change.tx.all(TASKS.open, Task, session_id=session.id):
                raise Conflict("session_busy", f"Session {session.id} is running again. Try again.")
            for query in (APPROVALS, MESSAGES, TASKS, EVENTS):
                await change.tx.run(query.remove_of_session, session_id=session.id)
            await budgets.forget(change, fresh)
            await change.tx.run(SESSIONS.remove_private, id=session.id)
            await change.tx.run(SESSIONS.remove, id=session.id)
            change.session("session.removed", session)
            change.audit(caller, "session.purged", session_id=session.id, subject_id=session.id, cwd=session.cwd)

        await self._store.write(work)
        return session


async def _childless(tx: Tx, session_id: str) -> Session:
    """Returns a session; raises `Conflict` if others were forked or spawned from it."""
    session = await records.session(tx, session_id)
    if await tx.value(SESSIONS.children, id=session.id):
        raise Conflict(
            "session_has_children",
            f"Other sessions were forked or spawned from session {session.id}. Purge those first.",
        )
    return session
