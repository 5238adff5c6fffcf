"""Runs a hostile agent in a session of a whole server."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.core.helpers import add_agent, open_session
from tests.support.client import Client, Json
from tests.support.misbehaving_agents.protocol import SESSION
from tests.support.server import Running, serving

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]


@dataclass
class Hostile:
    """A session with a hostile agent."""

    server: Running
    session: str
    script: Path

    @property
    def client(self) -> Client:
        return self.server.client

    def answers(self) -> list[Json]:
        """Returns the answers that the agent got to its requests."""
        file = self.script.with_name(f"{self.script.name}.answers")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    async def approvals(self, status: str = "") -> list[Json]:
        path = f"/api/approvals?sessionId={self.session}&limit=500"
        return (await self.client.get(f"{path}&status={status}" if status else path))["approvals"]


@contextlib.asynccontextmanager
async def hostile(folder: Path, *steps: Json, mode: str = "default", **settings: Any) -> AsyncGenerator[Hostile]:
    """Runs a server with a session whose agent plays these steps at each prompt."""
    script = folder / "script.json"
    script.write_text(json.dumps(steps))
    add_agent(folder, "hostile", ["{python}", "-m", "tests.attacks.agents.scripted", str(script)])
    async with serving(folder, **settings) as server:
        yield Hostile(server, await open_session(server, agent="hostile", permissionMode=mode), script)


def line(text: str | bytes) -> Json:
    """A step that writes a line as it is."""
    return {"line": text.decode("latin-1") if isinstance(text, bytes) else text}


def message(**fields: Any) -> Json:
    """A step that writes a message."""
    return line(json.dumps({"jsonrpc": "2.0", **fields}))


def update(session: str = SESSION, **fields: Any) -> Json:
    """A step that reports something about the conversation."""
    return message(method="session/update", params={"sessionId": session, "update": fields})


def text(words: str, session: str = SESSION) -> Json:
    """A step that says something."""
    return update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": words})


def ask(request_id: Any, **call: Any) -> Json:
    """A step that asks for permission."""
    params = {"sessionId": SESSION, "toolCall": {"toolCallId": "call", **call}, "options": OPTIONS}
    return message(id=request_id, method="session/request_permission", params=params)
