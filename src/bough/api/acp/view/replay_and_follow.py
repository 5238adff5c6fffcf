"""Shows one session in one editor: first its transcript, then everything as it happens, in the same order for all
watchers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from bough.api.acp.view.projection import OMITTED, Projection, ShownMessage, Update
from bough.api.acp.view.state import ShownSession
from bough.core.events.subscriber_buffer import EventFrame
from bough.core.services import Services
from bough.core.store.decode import decoded
from bough.core.transcripts import lineage
from bough.errors import NotFound
from bough.model.approval import Approval
from bough.model.session import Session
from bough.model.task import TERMINAL, Task

log = structlog.get_logger("bough.acp")

OPEN_TASKS = "queued,steering,dispatching,running,waiting_permission,stopping,interrupted"
MOST_TASKS = 500


class AttachmentCallbacks(msgspec.Struct, frozen=True):
    """Callbacks of an attachment: for updates, ended tasks, approvals, and a failure that ends it."""

    update: Callable[[str, Update], Awaitable[None]]
    ended: Callable[[Task], None]
    asked: Callable[[Approval], Awaitable[None]]
    failed: Callable[[BaseException], None]
    notices: bool = False


class _Text(msgspec.Struct, rename="camel"):
    message_id: str
    offset: int
    text: str


class _Data(msgspec.Struct):
    data: msgspec.Raw


class Attachment:
    """Follows a session for one editor until it is closed. `mine` holds the tasks that this editor started and waits
    for; the editor shows their prompts itself."""

    def __init__(self, services: Services, session: Session, client: AttachmentCallbacks, mine: set[str]) -> None:
        self.session = session
        self.mine = mine
        # Holding it delays updates: a prompt must be marked as this editor's before updates about it are sent.
        self.paused = asyncio.Lock()
        self._services = services
        self._client = client
        self._projection = Projection(lambda task_id: task_id in self.mine)
        self._state = ShownSession(session, services.catalog, client.notices)
        self._job: asyncio.Task[None] | None = None

    async def start(self, *, replay: bool) -> None:
        """Starts following; returns when the transcript was sent, or without `replay` was read."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._job = asyncio.create_task(self._follow(ready, replay), name=f"acp {self.session.id}")

        def done(job: asyncio.Task[None]) -> None:
            error = None if job.cancelled() else job.exception()
            if not ready.done():
                ready.set_exception(error) if error else ready.cancel()
            elif error is not None:
                self._client.failed(error)

        self._job.add_done_callback(done)
        await asyncio.shield(ready)

    async def close(self) -> None:
        if self._job is not None:
            self._job.cancel()
            await asyncio.wait((self._job,))

    def call(self, agents_id: str) -> str | None:
        """Returns the editor's id of a tool call."""
        return self._projection.call(agents_id)

    async def offer(self) -> None:
        """Sends the session's commands, title, usage and queue."""
        await self._all(self._state.whole())

    async def _follow(self, ready: asyncio.Future[None], replay: bool) -> None:
        # Subscribe first, so that events during the read follow the transcript.
        async with self._services.hub.subscribe(self.session.id, None) as stream:
            await self._changed(await self._services.sessions.get(self.session.id))
            over = await self._tasks()
            await self._transcript(replay)
            for task in over:
                self._client.ended(task)
            ready.set_result(None)
            async with contextlib.aclosing(stream.frames()) as frames:
                async for batch in frames:
                    async with self.paused:
                        for frame in batch:
                            await self._take(frame)

    async def _changed(self, fresh: Session) -> None:
        if fresh.updated_at >= self.session.updated_at:
            self.session = fresh
            await self._all(self._state.session(fresh))

    async def _tasks(self) -> list[Task]:
        """Reads the open tasks; returns this editor's tasks that have already ended."""
        page = await self._services.tasks.list(self.session.id, OPEN_TASKS, MOST_TASKS, 0)
        for task in page.rows:
            self._state.task(task, mine=task.id in self.mine)
        own = [await self._services.tasks.get(task_id) for task_id in self.mine]
        return [task for task in own if task.status in TERMINAL]

    async def _transcript(self, replay: bool) -> None:
        """With `replay`, sends the transcript, including what precedes a fork; otherwise only records its messages."""
        spans = await self._services.store.read(lambda tx: lineage.spans(tx, self.session))
        known = spans if replay else spans[:1]
        async for page in lineage.forwards(self._services.store, known):
            for row in page:
                updates = self._projection.show(ShownMessage.of(row))
                if replay:
                    await self._all(updates)

    async def _all(self, updates: list[Update]) -> None:
        for update in updates:
            await self._client.update(self.session.id, update)

    async def _take(self, frame: EventFrame) -> None:
        kind = frame.kind
        if kind in ("message.delta", "message.snapshot"):
            grown = msgspec.json.decode(frame.data, type=_Text)
            updates = self._projection.grow(grown.message_id, grown.offset, grown.text)
            await self._all(await self._read(grown.message_id) if updates is None else updates)
        elif kind in ("message.created", "message.patched"):
            message = msgspec.json.decode(_data(frame), type=ShownMessage)
            is_omitted = message.content.get("type") == OMITTED
            await self._all(await self._read(message.id) if is_omitted else self._projection.show(message))
        elif kind == "session.patched":
            await self._changed(decoded(_data(frame), Session))
        elif kind in ("task.created", "task.patched"):
            task = decoded(_data(frame), Task)
            await self._all(self._state.task(task, mine=task.id in self.mine))
            if task.status in TERMINAL:
                self._client.ended(task)
        elif kind in ("approval.created", "approval.patched"):
            # It follows all earlier messages, including the tool call that it is about.
            await self._client.asked(decoded(_data(frame), Approval))

    async def _read(self, message_id: str) -> list[Update]:
        try:
            message = await self._services.transcript.message(message_id)
        except NotFound:
            return []
        return self._projection.show(ShownMessage.of(message))


def _data(frame: EventFrame) -> bytes:
    data: Any = msgspec.json.decode(frame.data, type=_Data).data
    return bytes(data)
