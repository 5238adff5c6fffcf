"""Prompts of one editor: queued in order, answered when their turns end, taken back when the editor says so. An editor
that goes away takes nothing back. Running turns is the services' part."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import structlog

from bough.agents.json_rpc import INTERNAL_ERROR, INVALID_PARAMS, Json, RpcError
from bough.agents.shield import shielded
from bough.api.acp.protocol import wire
from bough.api.acp.protocol.rpc import Peer
from bough.api.acp.sessions import slash_commands
from bough.api.acp.sessions.open_sessions import Attached
from bough.api.acp.sessions.workspace import find_session
from bough.api.acp.view.attachment import Attachment
from bough.core.services import Services
from bough.core.transcripts.files import NewFile
from bough.errors import Conflict
from bough.model.session import Caller, Session
from bough.model.task import Task

log = structlog.get_logger("bough.acp")

# How turns end for editors; what is not here ended as it should.
STOPS = {"max_tokens", "max_turn_requests", "refusal", "cancelled"}

Ends = dict[str, asyncio.Future[Json]]


class Turns:
    """What one editor has asked for and waits for. `waited` names the same tasks, by session."""

    def __init__(
        self,
        services: Services,
        peer: Peer,
        caller: Caller,
        attached: Attached,
        ends: Ends,
        waited: dict[str, set[str]],
    ) -> None:
        self._services = services
        self._peer = peer
        self._caller = caller
        self._attached = attached
        self._ends = ends
        self._waited = waited

    async def prompt(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.Prompt)
        text, files = wire.read_prompt(asked.prompt)
        command = slash_commands.find(text)
        if command is not None and files:
            raise RpcError(INVALID_PARAMS, "Invalid params: Bough's own commands take no pictures")
        async with self._attached.order(asked.session_id):
            session = await find_session(self._services, asked.session_id)
            attachment = await self._attached.watch(session)
            task = await self._queue(attachment, text, files) if command is None else None
        if command is not None:
            return await self._obey(session, *command)
        assert task is not None
        return await self._end(task)

    async def _end(self, task: Task) -> Json:
        """Waits for the end of a turn."""
        try:
            return await self._ends[task.id]
        except asyncio.CancelledError:
            # Taken back by the editor; one that is gone leaves its turns to run.
            if not self._peer.gone:
                await shielded(asyncio.create_task(self._stop(task.id)))
            raise
        finally:
            self._ends.pop(task.id, None)
            self._waited.get(task.session_id, set()).discard(task.id)

    async def _queue(self, attachment: Attachment, text: str, files: list[NewFile]) -> Task:
        """Queues a prompt. It is known as this editor's before anything of it is told."""
        tasks, session_id = self._services.tasks, attachment.session.id
        async with attachment.still:
            work = asyncio.create_task(tasks.prompt(self._caller, session_id, text, resume=True, files=files))
            try:
                task = await shielded(work)
            except asyncio.CancelledError:
                if not self._peer.gone and work.exception() is None:
                    await shielded(asyncio.create_task(self._stop(work.result().id)))
                raise
            attachment.mine.add(task.id)
            self._ends[task.id] = asyncio.get_running_loop().create_future()
        return task

    async def _obey(self, session: Session, command: slash_commands.Command, rest: str) -> Json:
        said = await command(self._services, self._caller, session, rest)
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}}
        await self._attached.client.update(session.id, chunk)
        return {"stopReason": "end_turn"}

    def let_go(self, session_id: str) -> None:
        """The editor has closed a session: it waits for nothing there, whatever goes on."""
        for task_id in self._waited.get(session_id, set()) & self._ends.keys():
            if not self._ends[task_id].done():
                self._ends[task_id].set_result({"stopReason": "cancelled"})

    async def cancel(self, params: msgspec.Raw) -> None:
        """Takes this editor's prompts in a session back, queued or running; if it has none, stops what runs there."""
        asked = wire.read(params, wire.One)
        async with self._attached.order(asked.session_id):
            session = await find_session(self._services, asked.session_id)
            # Those that wait first, so that none of them begins when the running one ends; ids are in order of time.
            mine = sorted(self._waited.get(session.id, set()) & self._ends.keys(), reverse=True)
            for task_id in mine:
                await self._stop(task_id)
            if not mine:
                await self._services.control.stop(self._caller, session.id)

    async def _stop(self, task_id: str) -> None:
        try:
            await self._services.control.cancel_task(self._caller, task_id)
        except Conflict as error:
            log.debug("acp_task_over", task=task_id, error=error.message)


def ended(ends: Ends, task: Task) -> None:
    """A task is over, and all that it said has been sent."""
    waiting = ends.get(task.id)
    if waiting is None or waiting.done():
        return
    if task.status == "failed":
        error: dict[str, Any] = msgspec.json.decode(task.error) if task.error is not None else {}
        said, code = str(error.get("message", "The turn failed.")), str(error.get("code", "agent_failed"))
        waiting.set_exception(RpcError(INTERNAL_ERROR, said, {"code": code}))
    elif task.status == "cancelled":
        waiting.set_result({"stopReason": "cancelled"})
    else:
        waiting.set_result({"stopReason": task.stop_reason if task.stop_reason in STOPS else "end_turn"})
