"""An agent that is started only to see how it answers: one process, one session, perhaps one turn in which it may do
nothing that it asks for. What its answers mean is up to the caller; working with agents is the core's."""

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
from bough.agents.acp.wire import AgentRequest, Update
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.errors import AgentGone
from bough.agents.link import Link
from bough.agents.process_link import start_process
from bough.errors import AgentFailed

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

# Hears every update, and says whether text in it is meant for people.
Hear = Callable[[Update], bool]


class Step(msgspec.Struct):
    """Something that was done, and how long it took."""

    name: str
    seconds: float


class Steps(list[Step]):
    """What was done so far; a step that failed counts too."""

    @contextlib.contextmanager
    def take(self, name: str) -> Generator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.append(Step(name, round(time.monotonic() - begun, 3)))


class Handshake:
    """The talk with one agent. It listens to it, as the connection's handler, and refuses what it asks for."""

    def __init__(self, link: Link, steps: Steps, hear: Hear) -> None:
        self.connection = AgentConnection(link, self)
        self.client = AgentClient(self.connection)
        # What the agent said in its turn, and what it wanted to do.
        self.text = ""
        self.refused: list[str] = []
        self._steps = steps
        self._hear = hear

    async def initialize(self, patience: float) -> Initialized:
        with self._steps.take("initialize"):
            return await self.client.initialize(patience)

    async def open(self, cwd: str, prepared: PreparedStart, can: Capabilities, patience: float) -> SessionOpened:
        """Opens a session as the server would, without MCP servers."""
        told = prepared.instructions if can.system_prompt else ""
        with self._steps.take("session/new"):
            return await self.client.new_session(cwd, meta=prepared.meta or None, instructions=told, timeout=patience)

    async def prompt(self, session_id: str, text: str) -> PromptResult:
        """Runs one turn to its end."""
        self.text = ""
        with self._steps.take("session/prompt"):
            return await self.client.prompt(session_id, [TextBlock(text=text)], key=f"prompt:{uuid.uuid4().hex}")

    # What the connection tells

    def on_updates(self, updates: list[Update], last: int) -> None:
        for update in updates:
            if self._hear(update) and update.kind == "agent_message_chunk":
                self.text += update.text or ""

    async def on_request(self, request: AgentRequest, number: int) -> None:
        key = f"answer:{number}"
        with contextlib.suppress(AgentGone):
            if request.method != "session/request_permission":
                said = f"Bough does not offer {request.method}."
                await self.connection.reply_error(request.id, METHOD_NOT_FOUND, said, key=key)
                return
            try:
                asked = msgspec.json.decode(request.params, type=_Asked)
            except msgspec.DecodeError as error:
                await self.connection.reply_error(request.id, INVALID_PARAMS, str(error), key=key)
                return
            self.refused.append(str(asked.tool_call.get("title") or "something"))
            await self.connection.reply(request.id, {"outcome": _refusal(asked.options)}, key=key)

    def on_answer(self, key: str, number: int) -> None: ...

    def on_notification(self, method: str, params: msgspec.Raw) -> None: ...

    async def ready(self) -> None: ...


@contextlib.asynccontextmanager
async def shaking_hands(prepared: PreparedStart, cwd: str, steps: Steps, hear: Hear) -> AsyncGenerator[Handshake]:
    """Starts an agent; afterwards nothing of it is left."""
    with steps.take("start"):
        link = await start_process(prepared.command, cwd=cwd, env=prepared.env)
    shake = Handshake(link, steps, hear)
    running = asyncio.create_task(shake.connection.run(), name=f"handshake {link.pid}")
    try:
        yield shake
    finally:
        with steps.take("end"):
            await link.end()
        with contextlib.suppress(AgentFailed):
            # Whoever waited for an answer has heard of it.
            await running


class _Asked(msgspec.Struct, rename="camel"):
    tool_call: dict[str, Any] = {}
    options: list[dict[str, Any]] = []


def _refusal(options: list[dict[str, Any]]) -> dict[str, str]:
    for option in options:
        if option.get("kind") == "reject_once":
            return {"outcome": "selected", "optionId": str(option.get("optionId"))}
    return {"outcome": "cancelled"}
