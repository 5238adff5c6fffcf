"""Serves the methods of the Agent Client Protocol to one client: checks each request, answers it or queues a turn."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec

from bough.agents import acp_params
from bough.agents.acp_params import read
from bough.agents.acp_server import params as wire
from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.open_session import OpenSession
from bough.agents.acp_server.params import ReceivedMcpServer
from bough.agents.acp_server.records import PromptRecord, SettingRecord, SteerRecord, UpdateRecord
from bough.agents.acp_server.session_store import SessionFile, SessionStore, State, now
from bough.agents.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    Json,
    RequestId,
    RpcError,
    RpcMessage,
)

PROTOCOL_VERSION = 1
# Seconds for cancelled turns to be answered at the end; commands may take their time to die.
STOP_LIMIT = 2.0

Session = TypeVar("Session", bound=OpenSession[Any])
Handler = Callable[[RequestId, msgspec.Raw], None]


class AgentServer(ABC, Generic[State, Session]):
    """An agent with one client and any number of open sessions. Agents add what is their own."""

    def __init__(
        self,
        connection: ClientConnection,
        store: SessionStore[State],
        info: Mapping[str, str],
        modes: Mapping[str, str],
    ) -> None:
        self.connection = connection
        self.sessions: dict[str, Session] = {}
        self._store = store
        self._info = info
        self._modes = modes
        self._initialized = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.methods: dict[str, Handler] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
        }

    # What an agent adds

    @abstractmethod
    def capabilities(self) -> Json:
        """Returns the `agentCapabilities` of the answer to `initialize`."""

    def extensions(self) -> Json:
        """Returns further fields of the answer to `initialize`."""
        return {}

    @abstractmethod
    def new_session(self, file: SessionFile[State]) -> Session:
        """Opens a session for its file."""

    def describe(self, state: State) -> Json:
        """Returns the fields about a session in the answers to new, load, resume and fork."""
        return {"modes": mode_state(state.mode, self._modes)}

    def opened(self, file: SessionFile[State]) -> None:
        """Called when the client has been told that a session is open."""

    def history(self, file: SessionFile[State]) -> list[Json]:
        """Returns the updates that tell a client the whole session again."""
        updates: list[Json] = []
        for record in file.records():
            if isinstance(record, PromptRecord | SteerRecord):
                chunk = {"sessionUpdate": "user_message_chunk", "messageId": record.message_id}
                updates += [{**chunk, "content": block} for block in record.content]
            elif isinstance(record, UpdateRecord):
                updates.append(record.update)
        return updates

    def list_entry(self, file: SessionFile[State], changed: float) -> Json:
        """Returns a session as `session/list` shows it."""
        updated = datetime.fromtimestamp(changed, UTC).isoformat(timespec="milliseconds")
        return {"sessionId": file.id, "cwd": file.state().folder, "updatedAt": updated}

    # Messages

    def receive(self, message: RpcMessage) -> None:
        """Handles one message. Never raises and never waits."""
        if message.method is msgspec.UNSET:
            self.connection.settle(message)
        elif message.id is msgspec.UNSET:
            self._handle_notification(message.method, message.params)
        else:
            try:
                self._handle_request(message.id, message.method, message.params)
            except RpcError as error:
                self.connection.refuse(message.id, error)
            except Exception as error:
                traceback.print_exception(error, file=sys.stderr)
                self.connection.refuse(message.id, RpcError(INTERNAL_ERROR, f"Internal error: {error}"))

    async def stop(self) -> None:
        """Cancels everything, and waits up to STOP_LIMIT seconds until it is answered."""
        closing = [asyncio.create_task(session.close()) for session in self.sessions.values()]
        if closing or self._tasks:
            await asyncio.wait({*closing, *self._tasks}, timeout=STOP_LIMIT)

    def find_open(self, session_id: str) -> Session:
        """Returns an open session. Raises `RpcError` if it is not open."""
        session = self.sessions.get(session_id)
        if session is None:
            raise RpcError(NOT_FOUND, f"Session not open: {session_id}")
        return session

    def _handle_request(self, request_id: RequestId, method: str, params: msgspec.Raw) -> None:
        handler = self.methods.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        if not self._initialized and method != "initialize":
            raise RpcError(INVALID_REQUEST, f"{method} came before initialize")
        handler(request_id, params)

    def _handle_notification(self, method: str, params: msgspec.Raw) -> None:
        try:
            if method == "session/cancel":
                session = self.sessions.get(read(params, acp_params.SessionOnly).session_id)
                if session is not None:
                    session.cancel()
            elif method == "$/cancel_request":
                request_id = read(params, acp_params.CancelRequest).request_id
                for session in self.sessions.values():
                    session.cancel_request(request_id)
        except RpcError as error:
            # A notification cannot be answered; stderr is where the author of a client looks.
            print(f"{self._info['name']}: {method}: {error}", file=sys.stderr, flush=True)

    # Methods

    def _initialize(self, request_id: RequestId, params: msgspec.Raw) -> None:
        self.connection.client_capabilities = read(params, wire.ReceivedInitialize).client_capabilities or {}
        self._initialized = True
        result: Json = {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": self.capabilities(),
            "agentInfo": self._info,
            "authMethods": [],
            **self.extensions(),
        }
        self.connection.answer(request_id, result)

    def _new(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, wire.ReceivedNewSession)
        self._check(request.cwd, request.mcp_servers)
        self._open(request_id, self._store.create(request.cwd), request.mcp_servers, new=True)

    def _load(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, wire.LoadSession)
        file = self._reopen(request.session_id, request.cwd, request.mcp_servers)
        for update in self.history(file):
            self.connection.notify("session/update", {"sessionId": file.id, "update": update})
        self._open(request_id, file, request.mcp_servers)

    def _resume(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, wire.ResumeSession)
        file = self._reopen(request.session_id, request.cwd, request.mcp_servers)
        self._open(request_id, file, request.mcp_servers)

    def _fork(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, wire.ResumeSession)
        self._check(request.cwd, request.mcp_servers)
        fork = self._store.fork(self._find(request.session_id), request.cwd)
        self._open(request_id, fork, request.mcp_servers, new=True)

    def _list(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, acp_params.ListSessions)
        try:
            page, next_cursor = self._store.page(request.cwd, request.cursor)
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from error
        result: Json = {"sessions": [self.list_entry(file, changed) for file, changed in page]}
        if next_cursor is not None:
            result["nextCursor"] = next_cursor
        self.connection.answer(request_id, result)

    def _close(self, request_id: RequestId, params: msgspec.Raw) -> None:
        session_id = read(params, acp_params.SessionOnly).session_id
        self._end(request_id, session_id, self.find_open(session_id))

    def _delete(self, request_id: RequestId, params: msgspec.Raw) -> None:
        session_id = read(params, acp_params.SessionOnly).session_id
        session = self.sessions.get(session_id)
        self._end(request_id, session_id, session, then=lambda: self._store.delete(session_id))

    def _prompt(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, acp_params.ReceivedPrompt)
        session = self.find_open(request.session_id)
        self.check_content(request.prompt)
        session.prompt(request_id, request.prompt)

    def check_content(self, content: list[Json]) -> None:
        """Raises `RpcError` for blocks of a prompt that this agent does not take."""
        can = self.capabilities()["promptCapabilities"]
        kinds = {"image": can["image"], "audio": can["audio"], "resource": can["embeddedContext"]}
        refused = wire.check_blocks(content) & {kind for kind, offered in kinds.items() if not offered}
        if refused:
            problem = f"Invalid params: this agent does not take {', '.join(sorted(refused))} blocks"
            raise RpcError(INVALID_PARAMS, problem)

    def _set_mode(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, acp_params.SetMode)
        session = self.find_open(request.session_id)
        if request.mode_id not in self._modes:
            raise RpcError(INVALID_PARAMS, f"Invalid params: there is no mode {request.mode_id!r}")
        session.file.append(SettingRecord(at=now(), mode=request.mode_id))
        self.connection.answer(request_id, {})

    # Sessions

    def _check(self, cwd: str, servers: list[ReceivedMcpServer]) -> None:
        if not os.path.isabs(cwd) or not os.path.isdir(cwd):
            raise RpcError(INVALID_PARAMS, f"Invalid params: cwd {cwd!r} is not the absolute path of a folder")
        offered = self.capabilities()["mcpCapabilities"]
        for server in servers:
            if server.type != "stdio" and not offered[server.type]:
                raise RpcError(INVALID_PARAMS, f"Invalid params: {server.type} MCP servers are not supported")

    def _find(self, session_id: str) -> SessionFile[State]:
        file = self._store.find(session_id)
        if file is None:
            raise RpcError(NOT_FOUND, f"Session not found: {session_id}")
        return file

    def _reopen(self, session_id: str, cwd: str, servers: list[ReceivedMcpServer]) -> SessionFile[State]:
        self._check(cwd, servers)
        session = self.sessions.get(session_id)
        file: SessionFile[State] = self._find(session_id) if session is None else session.file
        if file.state().folder != cwd:
            file.append(SettingRecord(at=now(), cwd=cwd))
        return file

    def _open(
        self, request_id: RequestId, file: SessionFile[State], servers: list[ReceivedMcpServer], *, new: bool = False
    ) -> None:
        """Opens a session and answers with its state. With `new`, the answer includes the session's id."""
        session = self.sessions.get(file.id)
        if session is None:
            session = self.sessions[file.id] = self.new_session(file)
        session.servers = servers
        result: Json = {"sessionId": file.id} if new else {}
        self.connection.answer(request_id, {**result, **self.describe(file.state())})
        # After the answer: the client does not know the session any earlier.
        self.opened(file)

    def _end(
        self,
        request_id: RequestId,
        session_id: str,
        session: Session | None,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Closes a session so that its prompts are answered first, calls `then`, and answers the request."""

        async def end() -> None:
            if session is not None:
                await session.close()
            if then is not None:
                then()
            self.connection.answer(request_id, {})

        self.sessions.pop(session_id, None)
        task = asyncio.create_task(end())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def mode_state(current: str, modes: Mapping[str, str]) -> Json:
    """Returns the `modes` of a session in the form of the protocol, from their ids and descriptions."""
    return {
        "currentModeId": current,
        "availableModes": [{"id": mode, "name": mode, "description": text} for mode, text in modes.items()],
    }
