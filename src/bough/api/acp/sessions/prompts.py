"""Handles one editor's prompts: queues them in order, answers when their turns end, and cancels them on request. A
disconnecting editor cancels nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import structlog

from bough.agents import acp_params
from bough.agents.json_rpc import INTERNAL_ERROR, INVALID_PARAMS, Json, RpcError
from bough.agents.wait_shielded import shielded
from bough.api.acp.protocol import wire
from bough.api.acp.protocol.rpc import Peer
from bough.api.acp.sessions import slash_commands
from bough.api.acp.sessions.open_sessions import OpenSessions
from bough.api.acp.sessions.workspace import find_session
from bough.api.acp.view.replay_and_follow import Attachment
from bough.core.services import Services
from bough.core.sessions.requests import PromptedTask
from bough.core.transcripts.files import NewFile
from bough.errors import Conflict
from bough.model.session import Caller, Session
from bough.model.task import Task

log = structlog.get_logger("bough.acp")

# The protocol's stop reasons; every other turn ended normally.
STOPS = {"max_tokens", "max_turn_requests", "refusal", "cancelled"}

TurnEnds = dict[str, asyncio.Future[Json]]


class Prompts:
    """The prompts that one editor sent and waits for. `waited` holds their tasks by session."""

    def __init__(
        self,
        services: Services,
        peer: Peer,
        caller: Caller,
        attached: OpenSessions,
        ends: TurnEnds,
        waited: dict[str, set[str]],
    ) -> None:
        self._services = services
        self._peer = peer
        self._caller = caller
        self._open_sessions = attached
        self._ends = ends
        self._waited = waited

    async def prompt(self, params: msgspec.Raw) -> Json:
        request = acp_params.read(params, wire.EditorPrompt)
        settings = wire.read_prompt_settings(request.meta)
        text, files = wire.read_prompt(request.prompt)
        command = slash_commands.find(text)
        if command is not None and files:
            raise RpcError(INVALID_PARAMS, "Invalid params: Bough's own commands do not accept images")
        async with self._open_sessions.order(request.session_id):
            session = await find_session(self._services, request.session_id)
            attachment = await self._open_sessions.watch(session)
            task = await self._queue(attachment, text, files, settings) if command is None else None
        if command is not None:
            return await self._run_command(session, *command)
        assert task is not None
        answer, made_room = await self._end(task), wire.made_room_meta(task.made_room)
        return answer | {"_meta": {"bough": made_room}} if made_room else answer

    async def _end(self, task: Task) -> Json:
        """Waits for the end of a turn."""
        try:
            return await self._ends[task.id]
        except asyncio.CancelledError:
            # The editor cancelled the prompt; a disconnected editor's turns continue.
            if not self._peer.gone:
                await shielded(asyncio.create_task(self._stop(task.id)))
            raise
        finally:
            self._ends.pop(task.id, None)
            self._waited.get(task.session_id, set()).discard(task.id)

    async def _queue(
        self, attachment: Attachment, text: str, files: list[NewFile], settings: wire.PromptSettings
    ) -> PromptedTask:
        """Queues a prompt and marks it as this editor's before any update about it is sent."""
        resuming, session_id, make_room = self._services.resuming, attachment.session.id, settings.make_room
        async with attachment.paused:
            work = asyncio.create_task(
                resuming.prompt(self._caller, session_id, text, resume=True, make_room=make_room, files=files)
            )
            try:
                task = await shielded(work)
            except asyncio.CancelledError:
                if not self._peer.gone and work.exception() is None:
                    await shielded(asyncio.create_task(self._stop(work.result().id)))
                raise
            attachment.mine.add(task.id)
            self._ends[task.id] = asyncio.get_running_loop().create_future()
        return task

    async def _run_command(self, session: Session, command: slash_commands.Command, rest: str) -> Json:
        reply = await command(self._services, self._caller, session, rest)
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": reply}}
        await self._open_sessions.client.update(session.id, chunk)
        return {"stopReason": "end_turn"}

    def let_go(self, session_id: str) -> None:
        """Ends the editor's waits in a session that it closed; the turns continue."""
        for task_id in self._waited.get(session_id, set()) & self._ends.keys():
            if not self._ends[task_id].done():
                self._ends[task_id].set_result({"stopReason": "cancelled"})

    async def cancel(self, params: msgspec.Raw) -> None:
        """Cancels this editor's prompts in a session; if it has none, stops the running turn."""
        request = acp_params.read(params, acp_params.SessionOnly)
        async with self._open_sessions.order(request.session_id):
            session = await find_session(self._services, request.session_id)
            # Newest first, so that no queued prompt starts when the running one ends; ids are in order of time.
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


def ended(ends: TurnEnds, task: Task) -> None:
    """Answers the prompt of an ended task, after all its updates were sent."""
    waiting = ends.get(task.id)
    if waiting is None or waiting.done():
        return
    if task.status == "failed":
        error: dict[str, Any] = msgspec.json.decode(task.error) if task.error is not None else {}
        message, code = str(error.get("message", "The turn failed.")), str(error.get("code", "agent_failed"))
        waiting.set_exception(RpcError(INTERNAL_ERROR, message, {"code": code}))
    elif task.status == "cancelled":
        waiting.set_result({"stopReason": "cancelled"})
    else:
        waiting.set_result({"stopReason": task.stop_reason if task.stop_reason in STOPS else "end_turn"})
