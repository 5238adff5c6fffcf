"""Holds one editor's connection from `initialize` to its end, and dispatches its requests and notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from bough.agents import acp_params
from bough.agents.json_rpc import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Json,
    RequestId,
    RpcError,
    RpcMessage,
)
from bough.api import roles
from bough.api.acp.protocol import wire
from bough.api.acp.protocol.rpc import Peer, rpc_error
from bough.api.acp.sessions import mcp_servers, prompts
from bough.api.acp.sessions.approvals import ApprovalRequests
from bough.api.acp.sessions.children import Children
from bough.api.acp.sessions.methods import Methods
from bough.api.acp.sessions.open_sessions import OpenSessions
from bough.api.acp.sessions.prompts import Prompts, TurnEnds
from bough.api.acp.sessions.questions import ElicitationSupport
from bough.api.acp.view.projection import Update
from bough.api.acp.view.replay_and_follow import AttachmentCallbacks
from bough.core.events.subscriber_buffer import Dropped
from bough.core.services import Services
from bough.core.sessions.requests import OpenedSession
from bough.errors import BoughError
from bough.model.session import Caller, Session

log = structlog.get_logger("bough.acp")

# More requests without an answer are refused; with more answers than this on their way, reading pauses.
MOST_REQUESTS = 200
# With more pending notifications than this, reading pauses until some are handled.
MOST_NOTICES = 50


class Editor:
    """An editor's connection. `close` is called when the editor is too slow to keep up."""

    def __init__(
        self,
        services: Services,
        caller: Caller,
        send: Callable[[bytes], Awaitable[None]],
        close: Callable[[str], None],
    ) -> None:
        self._services = services
        self._close = close
        self.peer = Peer(send)
        self._caller = caller
        ends: TurnEnds = {}
        waited: dict[str, set[str]] = {}
        self._approvals = ApprovalRequests(
            services, self.peer, caller, lambda id: self._open_sessions.get(id), self._failed
        )
        self._client = AttachmentCallbacks(
            self._update, lambda task: prompts.ended(ends, task), self._approvals.take, self._failed
        )
        self._open_sessions = OpenSessions(services, self._client, self._approvals, waited)
        self._prompts = Prompts(services, self.peer, caller, self._open_sessions, ends, waited)
        self._methods = Methods(services, caller, self._open_sessions, self._prompts)
        self._children: Children | None = None
        self._initialized = False
        # Requests without an answer, requests whose answer is on its way, and notifications being handled.
        self._requests: dict[RequestId, asyncio.Task[None]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._noted: set[asyncio.Task[None]] = set()
        self._answers: dict[str, Callable[[msgspec.Raw], Awaitable[Json]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/load": self._methods.load,
            "session/resume": self._methods.resume,
            "session/list": self._methods.list,
            "session/close": self._methods.close,
            "session/delete": self._methods.delete,
            "session/prompt": self._prompts.prompt,
            "session/set_mode": self._methods.set_mode,
            "session/set_config_option": self._methods.set_option,
        }
        self._creators: dict[str, Callable[[msgspec.Raw], Awaitable[OpenedSession]]] = {
            "session/new": self._methods.new,
            "session/fork": self._methods.fork,
        }
        self._notices: dict[str, Callable[[msgspec.Raw], Awaitable[None]]] = {"session/cancel": self._prompts.cancel}

    async def take(self, frame: str | bytes) -> None:
        """Handles one frame from the editor; returns at once and answers later."""
        message = await self.peer.read(frame)
        if message is None:
            return
        if message.method is msgspec.UNSET:
            self.peer.settle(message)
        elif message.id is msgspec.UNSET:
            await self._note(str(message.method), message.params)
        elif message.id in self._requests or len(self._requests) >= MOST_REQUESTS:
            reason = "this id is in use" if message.id in self._requests else "too many requests at once"
            await self.peer.refuse(message.id, RpcError(INVALID_REQUEST, f"Invalid request: {reason}"))
        else:
            if len(self._answering) >= MOST_REQUESTS:
                await asyncio.wait(self._answering, return_when=asyncio.FIRST_COMPLETED)
            job = self._requests[message.id] = asyncio.create_task(self._request(message))
            job.add_done_callback(lambda job, id=message.id: self._done(job, id))

    async def end(self) -> None:
        """Cleans up after the editor has disconnected. Its turns continue, and other watchers are not affected."""
        self.peer.gone = True
        jobs = [*self._requests.values(), *self._answering, *self._noted]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)
        await self._approvals.close()
        if self._children is not None:
            await self._children.close()
        await self._open_sessions.close()

    async def _note(self, method: str, params: msgspec.Raw) -> None:
        if method == "$/cancel_request":
            # Let a request that arrived just before start, so that it answers that it was cancelled.
            await asyncio.sleep(0)
            self._withdraw(params)
        elif (handler := self._notices.get(method)) is not None:
            if len(self._noted) >= MOST_NOTICES:
                await asyncio.wait(self._noted, return_when=asyncio.FIRST_COMPLETED)
            job = asyncio.create_task(self._handle_notice(method, handler, params))
            self._noted.add(job)
            job.add_done_callback(self._done)

    def _done(self, job: asyncio.Task[None], request_id: RequestId = None) -> None:
        self._noted.discard(job)
        self._answering.discard(job)
        if self._requests.get(request_id) is job:
            del self._requests[request_id]
        if not job.cancelled() and (error := job.exception()) is not None:
            # Most likely the socket is closed, which the door notices on its own.
            log.debug("acp_job_broke", error=repr(error))

    async def _handle_notice(
        self, method: str, handler: Callable[[msgspec.Raw], Awaitable[None]], params: msgspec.Raw
    ) -> None:
        try:
            roles.check_editor_method(self._caller, method)
            await handler(params)
        except (RpcError, BoughError) as error:
            log.info("acp_notice_refused", method=method, error=str(error))
        except Exception:
            log.exception("acp_notice_failed", method=method)

    def _withdraw(self, params: msgspec.Raw) -> None:
        """Cancels a request, which is still answered."""
        try:
            job = self._requests.get(acp_params.read(params, acp_params.CancelRequest).request_id)
        except RpcError as error:
            log.info("acp_notice_refused", method="$/cancel_request", error=str(error))
            return
        if job is not None:
            job.cancel()

    async def _request(self, message: RpcMessage) -> None:
        request_id: Any = message.id
        method = str(message.method)
        answer: Json = {}
        created: Session | None = None
        refusal: RpcError | None = None
        try:
            answer, created = await self._answer(method, message.params)
        except RpcError as error:
            refusal = error
        except BoughError as error:
            refusal = rpc_error(error)
        except asyncio.CancelledError:
            refusal = RpcError(CANCELLED, "Cancelled")
        except Exception as error:
            log.exception("acp_request_failed", method=method)
            refusal = RpcError(INTERNAL_ERROR, f"Bough failed: {type(error).__name__}")
        # An editor that has read the answer may use the id again and send as many requests as before.
        self._answering.add(self._requests.pop(request_id))
        if refusal is not None:
            await self.peer.refuse(request_id, refusal)
        elif created is None:
            await self.peer.answer(request_id, answer)
        else:
            # The editor learns a new session's id before its updates, and later requests wait until it is watched.
            async with self._open_sessions.order(created.id):
                await self.peer.answer(request_id, answer)
                await self._open_sessions.watch(created)

    async def _answer(self, method: str, params: msgspec.Raw) -> tuple[Json, Session | None]:
        """Returns the answer and the session that was created, if any."""
        if method not in self._answers and method not in self._creators:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method[:100]}")
        if not self._initialized and method != "initialize":
            raise RpcError(INVALID_REQUEST, "Invalid request: initialize first")
        roles.check_editor_method(self._caller, method)
        if method in self._answers:
            return await self._answers[method](params), None
        created = await self._creators[method](params)
        session = created.session
        return {"sessionId": session.id, **self._methods.opened(session, created.made_room)}, session

    async def _initialize(self, params: msgspec.Raw) -> Json:
        request = acp_params.read(params, wire.EditorInitialize)
        self._methods.editor = mcp_servers.editor_name(request.client_info)
        capabilities = request.client_capabilities or {}
        session = capabilities.get("session")
        if isinstance(session, dict) and isinstance(session.get("notices"), dict):  # pyright: ignore[reportUnknownMemberType]
            self._open_sessions.client = msgspec.structs.replace(self._client, notices=True)
        if isinstance(capabilities.get("subagents"), dict) and self._children is None:
            self._children = Children(self._services, self._open_sessions, self._failed)
            self._open_sessions.opened, self._methods.closed = self._children.announce_existing, self._children.forget
            self._children.start()
        self._approvals.elicitation = ElicitationSupport.of(capabilities)
        self._initialized = True
        self._approvals.start()
        return {
            "protocolVersion": wire.PROTOCOL_VERSION,
            "agentCapabilities": wire.CAPABILITIES,
            "agentInfo": wire.AGENT_INFO,
            "authMethods": wire.AUTH,
        }

    async def _authenticate(self, params: msgspec.Raw) -> Json:
        """Accepts the token method, because the connection is already authenticated."""
        request = acp_params.read(params, wire.Authenticate)
        if request.method_id != wire.TOKEN:
            raise RpcError(
                INVALID_PARAMS, f"Invalid params: there is no authentication method {request.method_id[:100]!r}"
            )
        return {}

    async def _update(self, session_id: str, update: Update) -> None:
        await self.peer.notify("session/update", {"sessionId": session_id, "update": update})

    def _failed(self, error: BaseException) -> None:
        """Closes the connection when a session can no longer be followed; the editor reconnects and loads it again."""
        if not isinstance(error, Dropped) and not self.peer.gone:
            log.error("acp_session_broke", error=repr(error), exc_info=error)
        self._close(str(error))
