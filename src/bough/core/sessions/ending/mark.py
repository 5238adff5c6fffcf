"""Sets a session's final status: completed or failed, or idle again (5a). A busy session ends when its queue is empty;
`control` ends sessions at once."""

from __future__ import annotations

from typing import Literal

from bough.core.state import interruption, session_lifecycle
from bough.core.state.limits.session_limit import readmit
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import TASKS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.settings import Settings

Mark = Literal["idle", "completed", "failed"]


class Marking:
    """Sets the final status of sessions."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def mark(self, caller: Caller, session_id: str, mark: Mark) -> Session:
        """Ends a session, now or after its work, or makes an ended one idle again."""

        async def work(change: Change) -> Session:
            session = await records.session(change.tx, session_id)
            if mark == "idle":
                return await self._idle(change, caller, session)
            if session.status != "active":
                status = "completed" if mark == "completed" else "error"
                if session.status == status:
                    return session
                raise Conflict(
                    "session_ended",
                    f"Session {session.id} has ended ({session.status}). Set it to idle first, or prompt it again.",
                    status=session.status,
                )
            if await change.tx.all(TASKS.open, Task, session_id=session.id):
                return await records.update_session(change, session.id, ending=mark)
            return await session_lifecycle.end_as(change, session, mark)

        scope = RecordScope("sessions.mark", "sessions", session_id)
        return await self._store.write_once(caller, scope, mark, Session, work)

    async def _idle(self, change: Change, caller: Caller, session: Session) -> Session:
        if session.status != "active":
            reopened, _ = await readmit(change, self._settings, caller, session, make_room=None)
            return reopened
        if session.metadata.ending is not None:
            return await records.update_session(change, session.id, ending=None)
        if session.activity in ("running", "waiting_permission"):
            raise Conflict("session_busy", f"Session {session.id} is busy. Stop it, or wait until it has finished.")
        return await interruption.go_on(change, session, unasked=caller.kind == "session")
