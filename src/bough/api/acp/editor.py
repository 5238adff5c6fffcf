"""One editor: the methods of the protocol as Bough has them, each a few lines over the services. Following sessions is
`attachment`, asking its user `asking`, how frames travel the door's part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from bough.api.acp import choices, commands, places, wire
from bough.api.acp.asking import Asking
from bough.api.acp.attachment import Attachment
from bough.api.acp.projecting import Update
from bough.api.acp.rpc import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Json,
    Message,
    Peer,
    RequestId,
    RpcError,
    rpc_error,
)
from bough.core.branching import Branch
from bough.core.hub import Dropped
from bough.core.services import Services
from bough.core.session_requests import SessionFilter, SessionPatch
from bough.core.store import decoded
from bough.errors import BoughError, Conflict, Invalid
from bough.model.session import Caller, Session

log = structlog.get_logger("bough.acp")

PAGE = 50
MOST_REQUESTS = 200
# How turns end for editors; what is not here ended as it should.
STOPS = {"max_tokens", "max_turn_requests", "refusal", "cancelled"}


class Editor:
    """A connection of an editor. `close` is called when it cannot be kept up with."""

    def __init__(
        self, services: Services, send: Callable[[bytes], Awaitable[None]], close: Callable[[str], None]
    ) -> None:
        self._services = services
        self._caller = Caller()
        self._close = close
        self.peer = Peer(send)
        self._asking = Asking(services, self.peer, self._caller, self._watched)
        self._attached: dict[str, Attachment] = {}
        self._initialized = False
        # Requests that are being answered, and those of them that wait for the end of a task.
        self._requests: dict[RequestId, asyncio.Task[None]] = {}
        self._jobs: set[asyncio.Task[None]] = set()
        self._turns: dict[str, asyncio.Future[Json]] = {}
        self._methods: dict[str, Callable[[msgspec.Raw], Awaitable[Json]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close_session,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }
        self._notices: dict[str, Callable[[msgspec.Raw], Awaitable[None]]] = {
            "session/cancel": self._cancel,
            "$/cancel_request": self._cancel_request,
        }

    async def take(self, frame: str | bytes) -> None:
        """One frame of the editor; returns at once, whatever it asks for."""
        message = await self.peer.read(frame)
        if message is None:
            return
        if message.method is msgspec.UNSET:
            self.peer.settle(message)
        elif message.id is msgspec.UNSET:
            self._work(self._notice(str(message.method), message.params))
        elif message.id in self._requests or len(self._requests) >= MOST_REQUESTS:
            why = "this id is in use" if message.id in self._requests else "too many requests at once"
            await self.peer.refuse(message.id, RpcError(INVALID_REQUEST, f"Invalid request: {why}"))
        else:
            job = self._work(self._request(message))
            self._requests[message.id] = job
            job.add_done_callback(lambda _job, id=message.id: self._requests.pop(id, None))

    async def end(self) -> None:
        """The editor is gone: what it started goes on, whoever else watches notices nothing."""
        jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)
        await self._asking.close()
        for attachment in list(self._attached.values()):
            await attachment.close()

    def _work(self, work: Any) -> asyncio.Task[None]:
        job: asyncio.Task[None] = asyncio.create_task(work)
        self._jobs.add(job)
        job.add_done_callback(self._done)
        return job

    def _done(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and (error := job.exception()) is not None:
            # The socket is gone, most likely; the door notices that by itself.
            log.debug("acp_job_broke", error=repr(error))

    async def _request(self, message: Message) -> None:
        request_id: Any = message.id
        method = str(message.method)
        try:
            answer = await self._answer(method, message.params)
        except RpcError as error:
            await self.peer.refuse(request_id, error)
        except BoughError as error:
            await self.peer.refuse(request_id, rpc_error(error))
        except asyncio.CancelledError:
            await self.peer.refuse(request_id, RpcError(CANCELLED, "Cancelled"))
            raise
        except Exception as error:
            log.exception("acp_request_failed", method=method)
            await self.peer.refuse(request_id, RpcError(INTERNAL_ERROR, f"Bough failed: {type(error).__name__}"))
        else:
            await self.peer.answer(request_id, {k: v for k, v in answer.items() if k != "attach"})
            if isinstance(session := answer.get("attach"), Session):
                # Nothing of a new session is told before its id is.
                await self._attach(session, replay=False)
                await self._offer(session.id)

    async def _answer(self, method: str, params: msgspec.Raw) -> Json:
        found = self._methods.get(method)
        if found is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        if not self._initialized and method != "initialize":
            raise RpcError(INVALID_REQUEST, "Invalid request: initialize first")
        return await found(params)

    async def _notice(self, method: str, params: msgspec.Raw) -> None:
        found = self._notices.get(method)
        if found is not None:
            try:
                await found(params)
            except (RpcError, BoughError) as error:
                log.info("acp_notice_refused", method=method, error=str(error))

    # The connection

    async def _initialize(self, params: msgspec.Raw) -> Json:
        wire.read(params, wire.Initialize)
        self._initialized = True
        self._asking.start()
        return {
            "protocolVersion": wire.PROTOCOL_VERSION,
            "agentCapabilities": wire.CAPABILITIES,
            "agentInfo": wire.AGENT_INFO,
            "authMethods": wire.AUTH,
        }

    async def _authenticate(self, params: msgspec.Raw) -> Json:
        """Who got here has shown the token already."""
        wire.read(params, wire.Authenticate)
        return {}

    # Sessions

    async def _new(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.New)
        session = await places.open_session(self._services, self._caller, asked)
        return {"sessionId": session.id, **self._choices(session), "attach": session}

    async def _load(self, params: msgspec.Raw) -> Json:
        return await self._known(params, replay=True)

    async def _resume(self, params: msgspec.Raw) -> Json:
        return await self._known(params, replay=False)

    async def _known(self, params: msgspec.Raw, *, replay: bool) -> Json:
        asked = wire.read(params, wire.Known)
        session = await places.find_session(self._services, self._caller, asked)
        await self._attach(session, replay=replay)
        await self._offer(session.id)
        return self._choices(session)

    async def _fork(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.Known)
        source = await places.find_session(self._services, self._caller, asked)
        made = await self._services.branching.fork(self._caller, source.id, Branch())
        session = await self._services.sessions.get(made.session_id)
        return {"sessionId": session.id, **self._choices(session), "attach": session}

    async def _list(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.ListSessions)
        offset = _offset(asked.cursor)
        within = SessionFilter(cwd=asked.cwd, archived=False)
        page = await self._services.sessions.list(within, PAGE, offset)
        found = [decoded(msgspec.json.encode(one), Session) for one in page.rows]
        listed: Json = {"sessions": [_listed(one) for one in found]}
        if offset + len(found) < page.total:
            listed["nextCursor"] = str(offset + len(found))
        return listed

    async def _close_session(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.One)
        session = await self._services.sessions.get(asked.session_id)
        attachment = self._attached.pop(session.id, None)
        if attachment is not None:
            for task_id in attachment.mine & self._turns.keys():
                await self._stop(session.id, task_id)
            await attachment.close()
        return {}

    async def _attach(self, session: Session, *, replay: bool) -> Attachment:
        known = self._attached.get(session.id)
        if known is not None:
            if not replay:
                return known
            # Prompts of turns that have ended are part of the past, and told with it.
            mine = known.mine & self._turns.keys()
            await known.close()
        else:
            mine = set[str]()
        attachment = Attachment(self._services, session, self._update, self._ended)
        attachment.mine |= mine
        self._attached[session.id] = attachment
        try:
            await attachment.start(replay=replay, failed=self._behind)
        except BaseException:
            self._attached.pop(session.id, None)
            raise
        self._asking.look(session.id)
        return attachment

    def _behind(self, dropped: Dropped) -> None:
        self._close(str(dropped))

    async def _update(self, session_id: str, update: Update) -> None:
        await self.peer.notify("session/update", {"sessionId": session_id, "update": update})

    async def _offer(self, session_id: str) -> None:
        offered = {"sessionUpdate": "available_commands_update", "availableCommands": commands.available()}
        await self._update(session_id, offered)

    def _choices(self, session: Session) -> Json:
        return {"modes": choices.modes(session), "configOptions": choices.options(session, self._services.catalog)}

    def _watched(self, session_id: str) -> bool:
        return session_id in self._attached

    # Turns

    async def _prompt(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.Prompt)
        services = self._services
        session = await services.sessions.get(asked.session_id)
        attachment = self._attached.get(session.id) or await self._attach(session, replay=False)
        text = wire.prompt_text(asked.prompt)
        command = commands.find(text)
        if command is not None:
            said = await command[0](services, self._caller, session, command[1])
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}}
            await self._update(session.id, chunk)
            return {"stopReason": "end_turn"}
        task = await services.tasks.prompt(self._caller, session.id, text, resume=True)
        attachment.mine.add(task.id)
        self._turns[task.id] = asyncio.get_running_loop().create_future()
        try:
            return await self._turns[task.id]
        except asyncio.CancelledError:
            await asyncio.shield(self._stop(session.id, task.id))
            raise
        finally:
            self._turns.pop(task.id, None)

    async def _ended(self, task: dict[str, Any]) -> None:
        """A task is over, and all that it said has been sent."""
        waiting = self._turns.get(task["id"])
        if waiting is None or waiting.done():
            return
        if task["status"] == "failed":
            error: dict[str, Any] = task.get("error") or {}
            said, code = str(error.get("message", "The turn failed.")), str(error.get("code", "agent_failed"))
            waiting.set_exception(RpcError(INTERNAL_ERROR, said, {"code": code}))
        elif task["status"] == "cancelled":
            waiting.set_result({"stopReason": "cancelled"})
        else:
            reason = task.get("stopReason")
            waiting.set_result({"stopReason": reason if reason in STOPS else "end_turn"})

    async def _cancel(self, params: msgspec.Raw) -> None:
        """Stops what runs in a session, and takes this editor's own prompts out of its queue."""
        asked = wire.read(params, wire.One)
        session = await self._services.sessions.get(asked.session_id)
        attachment = self._attached.get(session.id)
        waiting = sorted(attachment.mine & self._turns.keys()) if attachment is not None else []
        for task_id in reversed(waiting):
            await self._stop(session.id, task_id)
        if not waiting:
            await self._services.control.stop(self._caller, session.id)

    async def _stop(self, session_id: str, task_id: str) -> None:
        try:
            await self._services.control.cancel_task(self._caller, task_id)
        except Conflict as error:
            log.debug("acp_task_over", session=session_id, task=task_id, error=error.message)

    async def _cancel_request(self, params: msgspec.Raw) -> None:
        job = self._requests.get(wire.read(params, wire.CancelRequest).request_id)
        if job is not None:
            job.cancel()

    # Choices

    async def _set_mode(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.SetMode)
        mode = choices.mode(asked.mode_id)
        if mode is None:
            raise RpcError(INVALID_PARAMS, f"Invalid params: there is no mode {asked.mode_id!r}")
        await self._services.sessions.patch(asked.session_id, SessionPatch(permission_mode=mode))
        return {}

    async def _set_option(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.SetOption)
        if asked.config_id == "agent":
            session = await self._services.sessions.change_agent(asked.session_id, asked.value)
        elif asked.config_id in choices.NAMED:
            model = asked.config_id == "model"
            patch = SessionPatch(model=asked.value) if model else SessionPatch(effort=asked.value)
            session = await self._services.sessions.patch(asked.session_id, patch)
        else:
            raise RpcError(INVALID_PARAMS, f"Invalid params: there is no option {asked.config_id!r}")
        return {"configOptions": choices.options(session, self._services.catalog)}


def _listed(session: Session) -> Json:
    lineage = {
        "kind": session.kind,
        "agent": session.agent,
        "status": session.status,
        "activity": session.activity,
        "parentSessionId": session.parent_session_id,
        "forkedFromSessionId": session.forked_from_session_id,
        "rootSessionId": session.root_session_id,
    }
    found: Json = {"sessionId": session.id, "cwd": session.cwd, "updatedAt": session.updated_at}
    return found | ({"title": session.title} if session.title else {}) | {"_meta": {"bough": lineage}}


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise Invalid("bad_cursor", f"{cursor[:40]!r} is no cursor of this list.")
    return int(cursor)
