"""Owns the methods of the protocol: checks each request, and answers or hands on.
It leaves the way of messages to `serving`, and turns to the sessions.
"""

from datetime import UTC, datetime

import msgspec

from bough.agents.acp_server import params as wire
from bough.agents.acp_server.dispatch import Desk, Handler, check_folder
from bough.agents.acp_server.params import McpServer, read
from bough.agents.acp_server.permission_request import mode_state
from bough.agents.acp_server.record_files import now
from bough.agents.acp_server.rpc import INVALID_PARAMS, NOT_FOUND, Connection, Json, RequestId, RpcError
from bough.agents.demo.capabilities import AGENT_INFO, GATES, PROTOCOL_VERSION, Features
from bough.agents.demo.config import OPTIONS, config_options, usage_update
from bough.agents.demo.permissions import MODES
from bough.agents.demo.records import PromptRecord, SettingRecord, UpdateRecord
from bough.agents.demo.session import Session
from bough.agents.demo.store import Home, SessionFile
from bough.agents.demo.turn import COMMANDS


class Agent(Desk[Session]):
    """One client's agent: as many sessions as it likes, each with its own turns."""

    def __init__(self, connection: Connection, home: Home, features: Features) -> None:
        super().__init__(connection, "demo agent")
        self._home = home
        self._features = features
        methods: dict[str, Handler] = {
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
            "session/set_config_option": self._set_config_option,
        }
        self.methods = {
            name: method for name, method in methods.items() if name not in GATES or GATES[name] in features
        }

    def _initialize(self, request_id: RequestId, params: msgspec.Raw) -> None:
        read(params, wire.Initialize)
        self.initialized = True
        result: Json = {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": self._features.capabilities(),
            "agentInfo": AGENT_INFO,
            "authMethods": [],
        }
        self.connection.answer(request_id, result)

    def _new(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.NewSession)
        self._check(asked.cwd, asked.mcp_servers)
        self._enter(request_id, self._home.create(asked.cwd), asked.mcp_servers, told=True)

    def _load(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.LoadSession)
        file = self._reopen(asked.session_id, asked.cwd, asked.mcp_servers)
        for update in _history(file, self._features):
            self.connection.notify("session/update", {"sessionId": file.id, "update": update})
        self._enter(request_id, file, asked.mcp_servers)

    def _resume(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.ResumeSession)
        file = self._reopen(asked.session_id, asked.cwd, asked.mcp_servers)
        self._enter(request_id, file, asked.mcp_servers)

    def _fork(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.ResumeSession)
        self._check(asked.cwd, asked.mcp_servers)
        fork = self._home.fork(self._find(asked.session_id), asked.cwd)
        self._enter(request_id, fork, asked.mcp_servers, told=True)

    def _list(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.ListSessions)
        try:
            page, following = self._home.page(asked.cwd, asked.cursor)
        except ValueError as error:
            raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from error
        sessions = [self._info(file, changed) for file, changed in page]
        result: Json = {"sessions": sessions}
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
        refused = {"audio"}
        refused |= set() if "images" in self._features else {"image"}
        refused |= set() if "embedded" in self._features else {"resource"}
        wrong = wire.check_blocks(asked.prompt) & refused
        if wrong:
            raise RpcError(INVALID_PARAMS, f"Invalid params: this agent takes no {', '.join(sorted(wrong))} blocks")
        session.prompt(request_id, asked.prompt)

    def _set_mode(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.SetMode)
        session = self.open(asked.session_id)
        if asked.mode_id not in MODES:
            raise RpcError(INVALID_PARAMS, f"Invalid params: there is no mode {asked.mode_id!r}")
        session.file.append(SettingRecord(at=now(), mode=asked.mode_id))
        self.connection.answer(request_id, {})

    def _set_config_option(self, request_id: RequestId, params: msgspec.Raw) -> None:
        asked = read(params, wire.SetConfigOption)
        session = self.open(asked.session_id)
        if asked.value not in OPTIONS.get(asked.config_id, {}):
            raise RpcError(INVALID_PARAMS, f"Invalid params: {asked.config_id!r} cannot be {asked.value!r}")
        session.file.append(
            msgspec.convert({"type": "setting", "at": now(), asked.config_id: asked.value}, SettingRecord)
        )
        self.connection.answer(request_id, {"configOptions": config_options(session.file.state())})

    def _check(self, cwd: str, servers: list[McpServer]) -> None:
        check_folder(cwd)
        for server in servers:
            if server.type != "stdio" and server.type not in self._features:
                raise RpcError(INVALID_PARAMS, f"Invalid params: {server.type} MCP servers are not supported")

    def _find(self, session_id: str) -> SessionFile:
        file = self._home.find(session_id)
        if file is None:
            raise RpcError(NOT_FOUND, f"Session not found: {session_id}")
        return file

    def _reopen(self, session_id: str, cwd: str, servers: list[McpServer]) -> SessionFile:
        self._check(cwd, servers)
        session = self.sessions.get(session_id)
        file = self._find(session_id) if session is None else session.file
        if file.state().cwd != cwd:
            file.append(SettingRecord(at=now(), cwd=cwd))
        return file

    def _enter(self, request_id: RequestId, file: SessionFile, servers: list[McpServer], *, told: bool = False) -> None:
        """Answers with the state of a session that is open from here on; `told`: the client learns its id."""
        session = self.sessions.get(file.id)
        if session is None:
            session = self.sessions[file.id] = Session(self.connection, self._features, file)
        session.servers = servers
        state = file.state()
        result: Json = {"sessionId": file.id} if told else {}
        if "modes" in self._features:
            result["modes"] = mode_state(state.mode, MODES)
        if "config" in self._features:
            result["configOptions"] = config_options(state)
        self.connection.answer(request_id, result)
        # After the answer, never before it: a client does not know the session any earlier.
        if "commands" in self._features:
            commands = [{"name": name, "description": text} for name, text in COMMANDS.items()]
            update = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
            self.connection.notify("session/update", {"sessionId": file.id, "update": update})

    def _info(self, file: SessionFile, changed: float) -> Json:
        state = file.state()
        updated = datetime.fromtimestamp(changed, UTC).isoformat(timespec="milliseconds")
        info: Json = {"sessionId": file.id, "cwd": state.cwd, "updatedAt": updated}
        if state.title is not None and "titles" in self._features:
            info["title"] = state.title
        return info


def _history(file: SessionFile, features: Features) -> list[Json]:
    """Returns everything that was said and done in a session, as updates."""
    updates: list[Json] = []
    for record in file.records():
        if isinstance(record, PromptRecord):
            chunk = {"sessionUpdate": "user_message_chunk", "messageId": record.message_id}
            updates += [{**chunk, "content": block} for block in record.content]
        elif isinstance(record, UpdateRecord):
            updates.append(record.update)
    if "titles" not in features:
        updates = [update for update in updates if update["sessionUpdate"] != "session_info_update"]
    if "message-ids" not in features:
        updates = [{key: value for key, value in update.items() if key != "messageId"} for update in updates]
    if "usage" in features and file.state().turns:
        updates.append(usage_update(file.state()))
    return updates
