"""Offers the calls of the Agent Client Protocol as methods, each with the time that an agent may take."""
# ruff: noqa: ASYNC109 - a timeout is passed on, so that the error can name the unanswered method

import uuid
from collections.abc import Sequence
from typing import Any

from msgspec import Raw, Struct

from bough import __version__
from bough.agents.acp.answers import (
    ConfigOption,
    Initialized,
    PromptResult,
    SessionOpened,
    SessionPage,
    read_initialized,
    read_outcome,
    read_prompt,
    read_session,
    read_session_page,
)
from bough.agents.acp.connection import AgentConnection
from bough.agents.acp.types import (
    PROTOCOL_VERSION,
    Block,
    ClientInfo,
    InitializeParams,
    ListParams,
    McpServer,
    Meta,
    PromptParams,
    SessionIdParams,
    SessionParams,
    SetModelParams,
    SetModeParams,
    SetOptionParams,
    SteerParams,
    SystemPrompt,
    TextBlock,
)
from bough.errors import AgentFailed

INITIALIZE_TIMEOUT = 60.0
"""Seconds for an agent to start: the slowest known one takes 3 s, and more on a busy machine."""
SESSION_TIMEOUT = 120.0
"""Seconds to open a session: an agent may start MCP servers or replay a long history before it answers."""
SETTING_TIMEOUT = 30.0
"""Seconds to change a mode or option or to close a session. Agents take less than one, so a longer wait is a hang."""
CAPABILITIES: dict[str, Any] = {
    "session": {"configOptions": {"boolean": {}}},
    "elicitation": {"form": {}, "url": {}},
}
"""The capabilities that Bough announces. It offers no files or terminals, since agents have their own."""


class AgentClient:
    """The client's side of the protocol. A key identifies a request across restarts; the default is a random one."""

    def __init__(self, connection: AgentConnection) -> None:
        self.connection = connection

    async def initialize(self, timeout: float = INITIALIZE_TIMEOUT, *, key: str | None = None) -> Initialized:
        """Agrees on the protocol version. Raises `AgentFailed` (`agent_protocol`) if the agent speaks another one."""
        info = ClientInfo(name="bough", title="Bough", version=__version__)
        params = InitializeParams(protocol_version=PROTOCOL_VERSION, client_capabilities=CAPABILITIES, client_info=info)
        answer = read_initialized(await self._ask("initialize", params, key, timeout))
        if answer.protocol_version != PROTOCOL_VERSION:
            spoken = "an unknown version" if (v := answer.protocol_version) is None else f"version {v}"
            raise AgentFailed(
                "agent_protocol",
                f"{self.connection.name} speaks {spoken} of the Agent Client Protocol, but Bough speaks version "
                f"{PROTOCOL_VERSION}. Try another release of the agent.",
                version=answer.protocol_version,
            )
        return answer

    async def new_session(
        self,
        cwd: str,
        mcp_servers: Sequence[McpServer] = (),
        meta: Meta | None = None,
        *,
        instructions: str = "",
        key: str | None = None,
        timeout: float = SESSION_TIMEOUT,
    ) -> SessionOpened:
        """Opens a new session."""
        params = _session(cwd, mcp_servers, meta, instructions)
        return self._opened("session/new", await self._ask("session/new", params, key, timeout))

    async def load_session(
        self,
        session_id: str,
        cwd: str,
        mcp_servers: Sequence[McpServer] = (),
        meta: Meta | None = None,
        *,
        instructions: str = "",
        key: str | None = None,
        timeout: float = SESSION_TIMEOUT,
    ) -> SessionOpened:
        """Opens an earlier session. Its history arrives as updates, from most agents before the answer."""
        params = _session(cwd, mcp_servers, meta, instructions, session_id)
        return read_session(await self._ask("session/load", params, key, timeout), session_id)

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        mcp_servers: Sequence[McpServer] = (),
        meta: Meta | None = None,
        *,
        instructions: str = "",
        key: str | None = None,
        timeout: float = SESSION_TIMEOUT,
    ) -> SessionOpened:
        """Opens an earlier session without replaying its history."""
        params = _session(cwd, mcp_servers, meta, instructions, session_id)
        return read_session(await self._ask("session/resume", params, key, timeout), session_id)

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        mcp_servers: Sequence[McpServer] = (),
        meta: Meta | None = None,
        *,
        instructions: str = "",
        key: str | None = None,
        timeout: float = SESSION_TIMEOUT,
    ) -> SessionOpened:
        """Opens a new session that starts as a copy of another one, which may be open in another process."""
        params = _session(cwd, mcp_servers, meta, instructions, session_id)
        return self._opened("session/fork", await self._ask("session/fork", params, key, timeout))

    async def list_sessions(
        self,
        cwd: str | None = None,
        cursor: str | None = None,
        *,
        key: str | None = None,
        timeout: float = SESSION_TIMEOUT,
    ) -> SessionPage:
        """Lists the conversations that the agent holds, of one folder or of all, a page at a time."""
        params = ListParams(cwd=cwd, cursor=cursor)
        return read_session_page(await self._ask("session/list", params, key, timeout))

    async def delete_session(
        self, session_id: str, *, key: str | None = None, timeout: float = SETTING_TIMEOUT
    ) -> None:
        """Has the agent delete a session with its conversation."""
        await self._ask("session/delete", SessionIdParams(session_id=session_id), key, timeout)

    async def prompt(self, session_id: str, blocks: Sequence[Block], key: str) -> PromptResult:
        """Runs a turn to its end, without a time limit."""
        params = PromptParams(session_id=session_id, prompt=list(blocks))
        return read_prompt(await self._ask("session/prompt", params, key, None))

    async def steer(self, method: str, session_id: str, blocks: Sequence[Block], meta: Meta | None, key: str) -> str:
        """Puts a prompt into the running turn by an agent's own method. Returns the outcome that it names."""
        params = SteerParams(session_id=session_id, prompt=list(blocks), meta=meta)
        return read_outcome(await self._ask(method, params, key, None))

    async def cancel(self, session_id: str, key: str) -> None:
        """Asks the agent to stop the running turn; the prompt then ends with `cancelled`."""
        await self.connection.notify("session/cancel", SessionIdParams(session_id=session_id), key=key)

    async def set_mode(
        self, session_id: str, mode_id: str, *, key: str | None = None, timeout: float = SETTING_TIMEOUT
    ) -> None:
        """Changes the mode of a session."""
        params = SetModeParams(session_id=session_id, mode_id=mode_id)
        await self._ask("session/set_mode", params, key, timeout)

    async def set_model(
        self, session_id: str, model_id: str, *, key: str | None = None, timeout: float = SETTING_TIMEOUT
    ) -> None:
        """Changes the model of a session, for agents without a config option for it."""
        params = SetModelParams(session_id=session_id, model_id=model_id)
        await self._ask("session/set_model", params, key, timeout)

    async def set_config_option(
        self,
        session_id: str,
        config_id: str,
        value: str | bool,
        *,
        key: str | None = None,
        timeout: float = SETTING_TIMEOUT,
    ) -> list[ConfigOption]:
        """Changes a config option of a session. Returns all options with their new values."""
        kind = "boolean" if isinstance(value, bool) else None
        params = SetOptionParams(session_id=session_id, config_id=config_id, value=value, type=kind)
        answer = await self._ask("session/set_config_option", params, key, timeout)
        return read_session(answer, session_id).config_options

    async def _ask(self, method: str, params: Struct, key: str | None, timeout: float | None) -> Raw:
        # Random keys are unique across restarts too, since a keeper does not send a key a second time.
        return await self.connection.request(method, params, key=key or f"{method}:{uuid.uuid4().hex}", timeout=timeout)

    def _opened(self, method: str, raw: Raw) -> SessionOpened:
        opened = read_session(raw, "")
        if not opened.session_id:
            message = f"{self.connection.name} answered {method} without a session id."
            raise AgentFailed("agent_answer", message, answer=bytes(raw)[:1000].decode(errors="replace"))
        return opened


def _session(
    cwd: str, mcp_servers: Sequence[McpServer], meta: Meta | None, instructions: str, session_id: str | None = None
) -> SessionParams:
    return SessionParams(
        session_id=session_id,
        cwd=cwd,
        mcp_servers=list(mcp_servers),
        meta=meta,
        system_prompt=_system(instructions),
    )


def _system(instructions: str) -> SystemPrompt | None:
    return SystemPrompt(mode="append", content=[TextBlock(text=instructions)]) if instructions else None
