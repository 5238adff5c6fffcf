"""Resumes sessions: reopens ended ones, alone or with a prompt, and makes room for them at the limit (T2, T5, T6)."""

from __future__ import annotations

import msgspec

from bough.core.sessions.ending.control import Control
from bough.core.sessions.requests import PromptedTask, ResumedSession
from bough.core.sessions.tasks import Tasks
from bough.core.state import interruption
from bough.core.state.limits.session_limit import readmit
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.transactions import Change, Store
from bough.core.transcripts.files import NewFiles
from bough.core.turns.park_turns import ParkedAccounts
from bough.model.session import Caller, Session
from bough.model.task import When
from bough.settings import Settings


class Resuming:
    """Resumes sessions for people. The agent of a session that is completed to make room is ended."""

    def __init__(
        self, store: Store, settings: Settings, tasks: Tasks, control: Control, parked: ParkedAccounts
    ) -> None:
        self._store = store
        self._settings = settings
        self._tasks = tasks
        self._control = control
        self._parked = parked

    async def resume(self, caller: Caller, session_id: str, *, make_room: bool = False) -> ResumedSession:
        """Resumes a paused queue, and tries now what waits for a limit; an ended session becomes active again."""

        async def work(change: Change) -> ResumedSession:
            session, made_room = await records.session(change.tx, session_id), None
            if session.status != "active":
                session, made_room = await readmit(change, self._settings, caller, session, make_room=make_room)
            else:
                session = await interruption.go_on(change, session, unasked=caller.kind == "session")
                if caller.kind != "session":
                    await self._parked.try_now(change, session)
            change.audit(caller, "session.resumed", session_id=session.id, subject_id=session.id)
            change.wake()
            return ResumedSession(*msgspec.structs.astuple(session), made_room=made_room)

        scope = RecordScope("sessions.resume", "sessions", session_id)
        request = "makeRoom" if make_room else None
        resumed = await self._store.write_once(caller, scope, request, ResumedSession, work)
        await self._control.end_agent_of(resumed.made_room)
        return resumed

    async def prompt(
        self,
        caller: Caller,
        session_id: str,
        text: str,
        *,
        resume: bool = False,
        make_room: bool | None = False,
        files: NewFiles = msgspec.UNSET,
        when: When = "next",
    ) -> PromptedTask:
        """Queues a prompt as `Tasks.prompt` does, or stops the running turn for it: with `when` "after_stop", this
        returns when that turn has ended (Q8)."""

        async def stop(change: Change, session: Session) -> Session:
            return await self._control.stop_for_prompt(change, caller, session)

        first = stop if when == "after_stop" else None
        task = await self._tasks.prompt(
            caller, session_id, text, resume=resume, make_room=make_room, files=files, when=when, first=first
        )
        await self._control.end_agent_of(task.made_room)
        if first is not None:
            await self._control.settle(task.session_id)
        return task
