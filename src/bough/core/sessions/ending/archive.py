"""Archives sessions, and takes them out of the archive."""

from __future__ import annotations

from bough.core.sessions.ending.control import Control
from bough.core.state import session_lifecycle
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import TASKS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict
from bough.model.session import Caller, Session
from bough.model.task import Task


class Archiving:
    """Moves sessions into the archive and out of it."""

    def __init__(self, store: Store, control: Control) -> None:
        self._store = store
        self._control = control

    async def archive(self, caller: Caller, session_id: str, archived: bool) -> Session:
        """Archives a session and ends its agent, or takes it out of the archive. An active session is completed by
        it; one with work to do is refused."""

        async def work(change: Change) -> Session:
            session = await records.session(change.tx, session_id)
            if archived and session.status == "active":
                tasks = await change.tx.all(TASKS.open, Task, session_id=session.id)
                if tasks:
                    queued = sum(1 for task in tasks if task.status == "queued")
                    busy = "A turn is running" if len(tasks) > queued else "Nothing runs"
                    raise Conflict(
                        "session_busy",
                        f"{busy} and {queued} prompts are queued in session {session.id}. Let it finish, or complete "
                        "it with force: true, then archive it.",
                        queued=queued,
                    )
                session = await session_lifecycle.end(change, session, "completed", "archived")
            if session.archived == archived:
                return session
            action = "session.archived" if archived else "session.unarchived"
            change.audit(caller, action, session_id=session.id, subject_id=session.id)
            return await records.update_session(change, session.id, archived=archived)

        scope = RecordScope("sessions.archive", "sessions", session_id)
        session = await self._store.write_once(caller, scope, archived, Session, work)
        await self._control.end_agent(session.id)
        return session
