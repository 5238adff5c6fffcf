"""Talks to a real agent directly over the protocol, without Bough in between."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from bough.agents.acp.answers import Initialized, PromptResult
from bough.agents.acp.client import AgentClient
from bough.agents.acp.connection import AgentConnection
from bough.agents.acp.types import McpServer, TextBlock
from bough.agents.acp.wire import AgentRequest, SessionUpdate
from bough.agents.process.process_link import start_process
from tests.support.real_agents.homes import Home
from tests.support.real_agents.packages import PACKAGES

METHOD_NOT_FOUND = -32601
TRIES = 50
# Gemini starts no MCP servers in an untrusted folder. Behind Bough, Bough sets the trust.
TRUST = {"gemini": {"GEMINI_CLI_TRUST_WORKSPACE": "true"}}


class Listener:
    """Collects what the agent sends, and allows every request."""

    def __init__(self) -> None:
        self.text = ""
        self.asked: list[str] = []
        self.connection: AgentConnection | None = None

    def on_updates(self, updates: list[SessionUpdate], last: int) -> None:
        self.text += "".join(update.text or "" for update in updates if update.kind == "agent_message_chunk")

    async def on_request(self, request: AgentRequest, number: int) -> None:
        assert self.connection is not None
        self.asked.append(request.method)
        key = f"answer:{number}"
        if request.method != "session/request_permission":
            # OpenCode reports each write this way, and continues whatever the answer is.
            await self.connection.reply_error(request.id, METHOD_NOT_FOUND, "Method not found", key=key)
            return
        options: list[dict[str, Any]] = msgspec.json.decode(request.params)["options"]
        once = next(option["optionId"] for option in options if option["kind"] == "allow_once")
        await self.connection.reply(request.id, {"outcome": {"outcome": "selected", "optionId": once}}, key=key)

    def on_answer(self, key: str, number: int) -> None: ...

    async def settled(self, key: str) -> None: ...

    def on_lost(self, text: str) -> None: ...

    def on_notification(self, method: str, params: Raw) -> None: ...

    async def ready(self) -> None: ...


@dataclass
class Talk:
    """A newly opened session."""

    about: Initialized
    client: AgentClient
    session_id: str
    listener: Listener

    async def ask(self, text: str) -> str:
        """Runs one whole turn and returns the agent's text."""
        self.listener.text = ""
        await self.result(text)
        return self.listener.text

    async def ask_until(self, text: str, words: str) -> None:
        """Asks until the agent's text has these words: some agents connect to MCP servers after the session is open and
        do not report it."""
        answer = ""
        for _ in range(TRIES):
            if words in (answer := await self.ask(text)):
                return
        raise AssertionError(f"{words!r} was not said, but {answer!r}")

    async def result(self, text: str) -> PromptResult:
        return await self.client.prompt(self.session_id, [TextBlock(text=text)], key=uuid.uuid4().hex)


@contextlib.asynccontextmanager
async def talking(
    agent: str, home: Home, cwd: Path, mcp_servers: Sequence[McpServer] = (), *, resume: str | None = None
) -> AsyncGenerator[Talk]:
    """Starts the agent and opens a session, or resumes one; afterwards nothing of it is left."""
    listener = Listener()
    env = os.environ | home.env | TRUST.get(agent, {})
    async with await start_process(PACKAGES[agent].command, cwd=str(cwd), env=env) as link:
        connection = listener.connection = AgentConnection(link, listener)
        running = asyncio.create_task(connection.run())
        try:
            client = AgentClient(connection)
            about = await client.initialize()
            if resume is None:
                session = await client.new_session(str(cwd), mcp_servers)
            else:
                session = await client.resume_session(resume, str(cwd), mcp_servers)
            yield Talk(about, client, session.session_id, listener)
        finally:
            await link.end()
            await running
