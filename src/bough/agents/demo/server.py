"""Serves the protocol as the demo agent: adds config options, titles, commands and usage, as far as switched on."""

import asyncio

import msgspec

from bough.agents import acp_params
from bough.agents.acp_params import read
from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.records import SettingRecord
from bough.agents.acp_server.server import AgentServer
from bough.agents.acp_server.session_store import now
from bough.agents.demo.capabilities import AGENT_INFO, GATES, Features
from bough.agents.demo.config import OPTIONS, config_options, usage_update
from bough.agents.demo.session import DemoSession
from bough.agents.demo.state import DemoFile, DemoState, DemoStore
from bough.agents.demo.tool_calls.permissions import MODES
from bough.agents.demo.turn import COMMANDS, DemoTurn
from bough.agents.json_rpc import INVALID_PARAMS, Json, RequestId, RpcError


class DemoAgent(AgentServer[DemoState, DemoSession]):
    """The demo agent of one client."""

    def __init__(self, connection: ClientConnection, store: DemoStore, features: Features) -> None:
        super().__init__(connection, store, AGENT_INFO, MODES)
        self._features = features
        self.methods["session/set_config_option"] = self._set_config_option
        self.methods["_session/steering"] = self._steer
        for method, switch in GATES.items():
            if switch not in features:
                del self.methods[method]

    def capabilities(self) -> Json:
        return self._features.capabilities()

    def extensions(self) -> Json:
        return {"_meta": {"steering": {"supported": True}}} if "steering" in self._features else {}

    def new_session(self, file: DemoFile) -> DemoSession:
        return DemoSession(self.connection, self._features, file)

    def describe(self, state: DemoState) -> Json:
        fields = super().describe(state) if "modes" in self._features else {}
        return {**fields, "configOptions": config_options(state)} if "config" in self._features else fields

    def opened(self, file: DemoFile) -> None:
        if "commands" in self._features:
            commands = [{"name": name, "description": text} for name, text in COMMANDS.items()]
            update = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
            self.connection.notify("session/update", {"sessionId": file.id, "update": update})

    def history(self, file: DemoFile) -> list[Json]:
        updates = super().history(file)
        if "titles" not in self._features:
            updates = [update for update in updates if update["sessionUpdate"] != "session_info_update"]
        if "message-ids" not in self._features:
            updates = [{key: value for key, value in update.items() if key != "messageId"} for update in updates]
        if "usage" in self._features and file.state().turns:
            updates.append(usage_update(file.state()))
        return updates

    def list_entry(self, file: DemoFile, changed: float) -> Json:
        entry = super().list_entry(file, changed)
        title = file.state().title
        return {**entry, "title": title} if title is not None and "titles" in self._features else entry

    def _set_config_option(self, request_id: RequestId, params: msgspec.Raw) -> None:
        request = read(params, acp_params.SetConfigOption)
        session = self.find_open(request.session_id)
        if request.value not in OPTIONS.get(request.config_id, {}):
            raise RpcError(INVALID_PARAMS, f"Invalid params: {request.config_id!r} cannot be {request.value!r}")
        session.file.append(
            msgspec.convert({"type": "setting", "at": now(), request.config_id: request.value}, SettingRecord)
        )
        self.connection.answer(request_id, {"configOptions": config_options(session.file.state())})

    def _steer(self, request_id: RequestId, params: msgspec.Raw) -> None:
        """Puts a prompt into the running turn; without one, the client has to send it as a prompt."""
        request = read(params, acp_params.ReceivedPrompt)
        session = self.find_open(request.session_id)
        self.check_content(request.prompt)

        def put_in() -> None:
            turn = session.running
            if isinstance(turn, DemoTurn) and turn.steer(request.prompt):
                self.connection.answer(request_id, {"outcome": "injected"})
            else:
                self.connection.answer(request_id, {"outcome": "promptRequired", "reason": "noRunningTurn"})

        if session.is_starting:
            # Both arrived at once, and the turn runs next.
            asyncio.get_running_loop().call_soon(put_in)
        else:
            put_in()
