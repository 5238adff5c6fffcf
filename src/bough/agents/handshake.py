"""Starts an agent only to see how it answers: one process, one session, perhaps one turn without permissions."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import msgspec

from bough.agents.acp.answers import Capabilities, Initialized, PromptResult, SessionOpened
from bough.agents.acp.client import AgentClient
from bough.agents.acp.connection import AgentConnection
from bough.agents.acp.types import TextBlock
from bough.agents.acp.wire import AgentRequest, SessionUpdate
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.errors import AgentGone
from bough.agents.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND
from bough.agents.link import Link
from bough.agents.process.process_link import start_process
from bough.errors import AgentFailed

# Sees every update, and returns whether its text is meant for people.
UpdateFilter = Callable[[SessionUpdate], bool]


class Step(msgspec.Struct):
    """A step of a handshake, and the seconds that it took."""

    name: str
    seconds: float


class Steps(list[Step]):
    """The steps so far, including a failed one."""

    @contextlib.contextmanager
    def take(self, name: str) -> Generator[None]:
        """Times a step."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.append(Step(name, round(time.monotonic() - started, 3)))


class Handshake:
    """The conversation with one agent. It is the connection's handler and refuses every request of the agent."""

    def __init__(self, link: Link, steps: Steps, for_people: UpdateFilter) -> None:
        self.connection = AgentConnection(link, self)
        self.client = AgentClient(self.connection)
        # The agent's text in its turn, and the titles of the tool calls that were refused.
        self.text = ""
        self.refused: list[str] = []
        self._steps = steps
        self._for_people = for_people

    async def initialize(self, seconds: float) -> Initialized:
        """Agrees on the protocol."""
        with self._steps.take("initialize"):
            return await self.client.initialize(seconds)

    async def open(
        self,
        cwd: str,
        prepared: PreparedStart,
        capabilities: Capabilities,
        seconds: float,
    ) -> SessionOpened:
        """Opens a session as the server would, without MCP servers."""
        instructions = prepared.instructions if capabilities.system_prompt else ""
        meta = prepared.meta or None
        with self._steps.take("session/new"):
            return await self.client.new_session(cwd, meta=meta, instructions=instructions, timeout=seconds)

    async def prompt(self, session_id: str, text: str) -> PromptResult:
        """Runs one turn to its end."""
        self.text = ""
        with self._steps.take("session/prompt"):
            return await self.client.prompt(session_id, [TextBlock(text=text)], key=f"prompt:{uuid.uuid4().hex}")

    # Called by the connection

    def on_updates(self, updates: list[SessionUpdate], last: int) -> None:
        for update in updates:
            if self._for_people(update) and update.kind == "agent_message_chunk":
                self.text += update.text or ""

    async def on_request(self, request: AgentRequest, number: int) -> None:
        key = f"answer:{number}"
        with contextlib.suppress(AgentGone):
            if request.method != "session/request_permission":
                problem = f"Bough does not offer {request.method}."
                await self.connection.reply_error(request.id, METHOD_NOT_FOUND, problem, key=key)
                return
            try:
                permission = msgspec.json.decode(request.params, type=_PermissionRequest)
            except msgspec.DecodeError as error:
                await self.connection.reply_error(request.id, INVALID_PARAMS, str(error), key=key)
                return
            self.refused.append(str(permission.tool_call.get("title") or "something"))
            await self.connection.reply(request.id, {"outcome": _refusal(permission.options)}, key=key)

    def on_answer(self, key: str, number: int) -> None: ...

    async def settled(self, key: str) -> None: ...

    def on_lost(self, text: str) -> None: ...

    def on_notification(self, method: str, params: msgspec.Raw) -> None: ...

    async def ready(self) -> None: ...


@contextlib.asynccontextmanager
async def shaking_hands(
    prepared: PreparedStart, cwd: str, steps: Steps, for_people: UpdateFilter
) -> AsyncGenerator[Handshake]:
    """Starts an agent, and ends it with everything it started."""
    with steps.take("start"):
        link = await start_process(prepared.command, cwd=cwd, env=prepared.env)
    shake = Handshake(link, steps, for_people)
    running = asyncio.create_task(shake.connection.run(), name=f"handshake {link.pid}")
    try:
        yield shake
    finally:
        with steps.take("end"):
            await link.end()
        with contextlib.suppress(AgentFailed):
            # The caller that waited for an answer has already received this error.
            await running


class _PermissionRequest(msgspec.Struct, rename="camel"):
    tool_call: dict[str, Any] = {}
    options: list[dict[str, Any]] = []


def _refusal(options: list[dict[str, Any]]) -> dict[str, str]:
    for option in options:
        if option.get("kind") == "reject_once":
            return {"outcome": "selected", "optionId": str(option.get("optionId"))}
    return {"outcome": "cancelled"}
