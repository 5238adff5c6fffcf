"""Announces the children of open sessions to editors that support subagents: each appears on its parent with its state,
and is shown on the same connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import structlog

from bough.api.acp.sessions.open_sessions import OpenSessions
from bough.api.acp.view.shapes import Update
from bough.core.services import Services
from bough.core.sessions.requests import SessionFilter
from bough.core.store.decode import decoded
from bough.errors import NotFound
from bough.model.session import Session

log = structlog.get_logger("bough.acp")

PAGE = 200
EVENTS = frozenset({"session.created", "session.patched"})
# A fork is not a child; editors find it in the session list.
KINDS = ("subsession", "btw")
STATES = {"not_started": "idle", "idle": "idle", "running": "running", "waiting_permission": "requires_action"}


class _Event(msgspec.Struct):
    data: msgspec.Raw


class _Announced(msgspec.Struct):
    """A child as it was last announced, and its parent."""

    parent: str
    fields: Update


class Children:
    """Announces children to one editor."""

    def __init__(self, services: Services, attached: OpenSessions, failed: Callable[[BaseException], None]) -> None:
        self._services = services
        self._open_sessions = attached
        self._failed = failed
        self._announced: dict[str, _Announced] = {}
        self._jobs: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Announces new children from now on."""
        self._work(self._follow())

    def announce_existing(self, session_id: str) -> None:
        """Announces the existing children of a session that was opened."""
        self._work(self._known(session_id))

    async def forget(self, session_id: str) -> None:
        """Stops showing the children of a session that was closed."""
        for child in [child_id for child_id, announced in self._announced.items() if announced.parent == session_id]:
            del self._announced[child]
            await self._open_sessions.detach(child)
            await self.forget(child)

    async def close(self) -> None:
        for job in self._jobs:
            job.cancel()
        if self._jobs:
            await asyncio.wait(self._jobs)

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        job = asyncio.create_task(work)
        self._jobs.add(job)
        job.add_done_callback(self._done)

    def _done(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and (error := job.exception()) is not None:
            self._failed(error)

    async def _follow(self) -> None:
        hub = self._services.hub
        async with hub.subscribe(None, None, kinds=EVENTS) as stream, contextlib.aclosing(stream.frames()) as frames:
            async for batch in frames:
                for frame in batch:
                    if frame.kind in EVENTS:
                        session = decoded(bytes(msgspec.json.decode(frame.data, type=_Event).data), Session)
                        await self._tell(session, new=frame.kind == "session.created")

    async def _known(self, session_id: str) -> None:
        page = await self._services.sessions.list(SessionFilter(parent_id=session_id, archived=False), PAGE, 0)
        for row in reversed(page.rows):
            await self._tell(decoded(msgspec.json.encode(row), Session), new=False)

    async def _tell(self, session: Session, *, new: bool) -> None:
        """Announces a child or its changes. A new child is shown from its start, an older one from now on."""
        parent = session.parent_session_id
        if session.kind not in KINDS or parent is None or self._open_sessions.get(parent) is None:
            return
        previous, fields = self._announced.get(session.id), _fields(session)
        changed = (
            fields
            if previous is None
            else {name: value for name, value in fields.items() if previous.fields[name] != value}
        )
        if not changed:
            return
        self._announced[session.id] = _Announced(parent, fields)
        # The announcement precedes the child's own updates.
        update: Update = {"sessionUpdate": "subagent_update", "sessionId": session.id, **changed}
        if previous is None:
            update["capabilities"] = {"cancel": {}}
        await self._open_sessions.client.update(parent, update)
        if previous is None:
            await self._show(session, new=new)

    async def _show(self, session: Session, *, new: bool) -> None:
        async with self._open_sessions.order(session.id):
            if self._open_sessions.get(session.id) is None:
                try:
                    await self._open_sessions.attach(session, replay=new)
                except NotFound:
                    # It was deleted in the meantime.
                    return
        await self._known(session.id)


def _fields(session: Session) -> Update:
    state = STATES[session.activity] if session.status == "active" else "idle"
    about = session.description or None
    return {"title": session.title or None, "description": about, "cwd": session.cwd, "state": {"state": state}}
