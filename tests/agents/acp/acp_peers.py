"""Starts misbehaving agents with a client that records everything it receives.

Every line that the client sends is checked against the published schema, if it is available.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec
from msgspec import Raw

from bough.agents.acp.client import AgentClient
from bough.agents.acp.connection import AgentConnection
from bough.agents.acp.wire import AgentRequest, SessionUpdate
from bough.agents.lines import LINE_CAP
from bough.agents.link import AgentExit, LineBatch
from bough.agents.process.process_link import ProcessLink, start_process
from tests.support import misbehaving_agents
from tests.support.acp.acp_schema import AcpSchema, Pending


class Ear:
    """A handler that remembers everything in order."""

    def __init__(self) -> None:
        self.heard: list[SessionUpdate | AgentRequest | tuple[str, Raw]] = []
        self.numbers: list[int] = []
        """The number that came with each call, in order."""
        self.answered: list[tuple[str, int]] = []
        self.batches = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._changed = asyncio.Event()

    @property
    def updates(self) -> list[SessionUpdate]:
        return [item for item in self.heard if isinstance(item, SessionUpdate)]

    @property
    def requests(self) -> list[AgentRequest]:
        return [item for item in self.heard if isinstance(item, AgentRequest)]

    @property
    def texts(self) -> list[str]:
        return [update.text for update in self.updates if update.text is not None]

    def echoes(self, method: str) -> list[dict[str, Any]]:
        """Returns what the echo agent received with this method."""
        messages = [msgspec.json.decode(u.raw)["message"] for u in self.updates if u.kind == "echo"]
        return [message for message in messages if message.get("method") == method]

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def on_updates(self, updates: list[SessionUpdate], last: int) -> None:
        self.heard += updates
        self.numbers.append(last)

    async def on_request(self, request: AgentRequest, number: int) -> None:
        await asyncio.sleep(0)  # later lines wait for this
        self.heard.append(request)
        self.numbers.append(number)

    def on_answer(self, key: str, number: int) -> None:
        self.answered.append((key, number))
        self.numbers.append(number)

    async def settled(self, key: str) -> None: ...

    def on_lost(self, text: str) -> None:
        raise AssertionError(text)

    def on_notification(self, method: str, params: Raw) -> None:
        self.heard.append((method, params))

    async def ready(self) -> None:
        self.batches += 1
        self._changed.set()
        await self.gate.wait()


class CheckedLink:
    """A link that refuses to send a line that the protocol does not allow."""

    def __init__(self, link: ProcessLink) -> None:
        self._link = link
        self._schema = AcpSchema.load() if AcpSchema.at_hand() else None
        self._pending: Pending = {}
        self.sent: list[bytes] = []
        self.command = link.command
        self.pid = link.pid

    async def receive(self) -> LineBatch:
        batch = await self._link.receive()
        for line in batch.lines:
            if b'"id"' in line and b'"fs/read_text_file"' in line and b'"echo"' not in line:
                self._pending["agent", msgspec.json.decode(line)["id"]] = "fs/read_text_file"
        return batch

    async def send(self, line: bytes, key: str) -> bool:
        self.sent.append(line)
        if self._schema is not None:
            self._schema.check_client_line(line, self._pending)
        return await self._link.send(line, key)

    def confirm(self, number: int) -> None:
        self._link.confirm(number)

    def forget(self, prefix: str) -> None:
        self._link.forget(prefix)

    async def leave(self) -> None:
        await self._link.leave()

    def stderr_tail(self) -> str:
        return self._link.stderr_tail()

    async def end(self, grace: float = 0.2) -> AgentExit:
        return await self._link.end(grace)


class Peer:
    """An agent, and our side of the conversation."""

    def __init__(self, link: ProcessLink) -> None:
        self.link = CheckedLink(link)
        self.ear = Ear()
        self.connection = AgentConnection(self.link, self.ear)
        self.client = AgentClient(self.connection)
        self.run = asyncio.create_task(self.connection.run())

    async def open(self) -> str:
        """Initializes the agent and creates a session."""
        await self.client.initialize()
        return (await self.client.new_session("/")).session_id


def command(name: str, *args: str) -> list[str]:
    return [sys.executable, "-m", misbehaving_agents.module(name), *args]


@contextlib.asynccontextmanager
async def peer(name: str, *args: str, line_cap: int = LINE_CAP) -> AsyncGenerator[Peer]:
    link = await start_process(command(name, *args), cwd="/", env=os.environ, line_cap=line_cap)
    peer = Peer(link)
    try:
        yield peer
    finally:
        await peer.link.end()
        peer.ear.gate.set()
        await asyncio.wait([peer.run])
        if not peer.run.cancelled():
            peer.run.exception()
