"""Owns the methods of the protocol as the terminal has them: checks each request, and answers or hands on.
It leaves the way of messages to `serving`, and turns to the sessions.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import msgspec

from bough.agents.acp_server import params as wire
from bough.agents.acp_server.dispatch import Desk, check_folder
from bough.agents.acp_server.params import McpServer, read
from bough.agents.acp_server.permission_request import mode_state
from bough.agents.acp_server.record_files import now
from bough.agents.acp_server.rpc import INVALID_PARAMS, NOT_FOUND, Connection, Json, RequestId, RpcError
from bough.agents.terminal.modes import MODES
from bough.agents.terminal.records import PromptRecord, SettingRecord, UpdateRecord
from bough.agents.terminal.session import Session
from bough.agents.terminal.store import Home, SessionFile
from bough.agents.terminal.tool_updates import ended_early

PROTOCOL_VERSION = 1
AGENT_INFO = {"name": "bough-terminal", "title": "Bough terminal", "version": "1.0.0"}
CAPABILITIES: Json = {
    "loadSession": True,
    # Only the last text block is run; an embedded file before it does no harm, and no good either.
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": False, "sse": False},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
}


class Agent(Desk[Session]):
    """One client's terminal: as many sessions as it likes, each with a shell of its own."""

    def __init__(self, connection: Connection, home: Home) -> None:
        super().__init__(connection, "terminal")
        self._home = home
        self.methods = {
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

    async def stop(self) -> None:
        """Cancels everything; what has not ended in time is killed."""
        sessions = list(self.sessions.values())
        await super().stop()
        await asyncio.to_thread(lambda: [session.kill() for session in sessions])

    def _initialize(self, request_id: RequestId, params: msgspec.Raw) -> None:
        read(params, wire.Initialize)
        self.initialized = True
        result: Json = {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": AGENT_INFO,
            "authMethods": [],
        }
        self.connection.answer(request_id, result)

    def _new(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.NewSession)
        _check(asked.cwd, asked.mcp_servers)
        self._enter(request_id, self._home.create(asked.cwd), told=True)

    def _load(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.LoadSession)
        file = self._reopen(asked.session_id, asked.cwd, asked.mcp_servers)
        for update in _history(file, closed=file.id not in self.sessions):
            self.connection.notify("session/update", {"sessionId": file.id, "update": update})
        self._enter(request_id, file)

    def _resume(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.ResumeSession)
        self._enter(request_id, self._reopen(asked.session_id, asked.cwd, asked.mcp_servers))

    def _fork(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.ResumeSession)
        _check(asked.cwd, asked.mcp_servers)
        self._enter(request_id, self._home.fork(self._find(asked.session_id), asked.cwd), told=True)

    def _list(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.ListSessions)
        try:
            page, following = self._home.page(asked.cwd, asked.cursor)
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from error
        result: Json = {"sessions": [_info(file, changed) for file, changed in page]}
        if following is not None:
            result["nextCursor"] = following
        self.connection.answer(request_id, result)

    def _close(self, request_id: RequestId, params: msgspec.Raw) -> None:
        session_id = read(params, wire.OneSession).session_id
        self.end(request_id, session_id, self.open(session_id))

    def _delete(self, request_id: RequestId, params: msgspec.Raw) -> None:
        session_id = read(params, wire.OneSession).session_id
        self.end(request_id, session_id, self.sessions.get(session_id), lambda: self._home.delete(session_id))

    def _prompt(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.Prompt)
        session = self.open(asked.session_id)
        wrong = wire.check_blocks(asked.prompt) & {"image", "audio"}
        if wrong:
            raise RpcError(INVALID_PARAMS, f"Invalid params: a terminal takes no {', '.join(sorted(wrong))} blocks")
        session.prompt(request_id, asked.prompt)

    def _set_mode(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.SetMode)
        session = self.open(asked.session_id)
        if asked.mode_id not in MODES:
            raise RpcError(INVALID_PARAMS, f"Invalid params: there is no mode {asked.mode_id!r}")
        session.file.append(SettingRecord(at=now(), mode=asked.mode_id))
        self.connection.answer(request_id, {})

    def _find(self, session_id: str) -> SessionFile:
        file = self._home.find(session_id)
        if file is None:
            raise RpcError(NOT_FOUND, f"Session not found: {session_id}")
        return file

    def _reopen(self, session_id: str, cwd: str, servers: list[McpServer]) -> SessionFile:
        _check(cwd, servers)
        session = self.sessions.get(session_id)
        file = self._find(session_id) if session is None else session.file
        if file.state().folder != cwd:
            file.append(SettingRecord(at=now(), cwd=cwd))
        return file

    def _enter(self, request_id: RequestId, file: SessionFile, *, told: bool = False) -> None:
        """Answers with the state of a session that is open from here on; `told`: the client learns its id."""
        if file.id not in self.sessions:
            self.sessions[file.id] = Session(self.connection, file)
        result: Json = {"sessionId": file.id} if told else {}
        self.connection.answer(request_id, {**result, "modes": mode_state(file.state().mode, MODES)})


def _check(cwd: str, servers: list[McpServer]) -> None:
    check_folder(cwd)
    # A terminal calls no tools: servers on stdio, which every agent takes, are not even started.
    for server in servers:
        if server.type != "stdio":
            raise RpcError(INVALID_PARAMS, f"Invalid params: {server.type} MCP servers are not supported")


def _history(file: SessionFile, *, closed: bool) -> list[Json]:
    """Returns everything that was said and done in a session, as updates; in a closed one no command still runs."""
    updates: list[Json] = []
    running: dict[str, None] = {}
    for record in file.records():
        if isinstance(record, PromptRecord):
            chunk = {"sessionUpdate": "user_message_chunk", "messageId": record.message_id}
            updates += [{**chunk, "content": block} for block in record.content]
        elif isinstance(record, UpdateRecord):
            updates.append(record.update)
            if record.update.get("status") in ("pending", "in_progress"):
                running[record.update["toolCallId"]] = None
            elif "status" in record.update:
                running.pop(record.update["toolCallId"], None)
    if closed:
        updates += [ended_early(call_id) for call_id in running]
    return updates


def _info(file: SessionFile, changed: float) -> Json:
    updated = datetime.fromtimestamp(changed, UTC).isoformat(timespec="milliseconds")
    return {"sessionId": file.id, "cwd": file.state().folder, "updatedAt": updated}
