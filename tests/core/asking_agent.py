"""A session whose agent asks for whatever its prompt says and writes down the answers that it gets."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bough.core.policy.rules import NewRule
from bough.model.session import Caller
from tests.core.helpers import add_agent, messages
from tests.support.client import Client, Json
from tests.support.server import Running, serving

RUN: Json = {"title": "make it", "kind": "execute", "rawInput": {"command": "make it"}}
LEAVE: Json = {"title": "Ready to code?", "kind": "switch_mode"}
NO_ONCE = [
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]
POLICY = {"kind": "policy", "id": None}
# In minutes, a twentieth of a second.
SOON = 0.05 / 60
LATER = 60.0


def add_wanting(folder: Path) -> Path:
    received = folder / "heard"
    add_agent(
        folder, "wants", ["{python}", "-m", "tests.support.misbehaving_agents.requests_permission", str(received)]
    )
    return received


def answers(received: Path) -> list[str]:
    lines = [json.loads(line) for line in received.read_text().splitlines()]
    return [line["answer"] for line in lines if "answer" in line]


def prompts(received: Path) -> list[list[str]]:
    lines = [json.loads(line) for line in received.read_text().splitlines()]
    return [line["prompt"] for line in lines if "prompt" in line]


@dataclass
class Wanting:
    """A session whose agent asks for whatever its prompt says, and the file where it records the answers."""

    server: Running
    session: str
    received: Path

    @property
    def client(self) -> Client:
        return self.server.client

    async def wants(self, call: Json, **more: Any) -> str:
        """Makes the agent ask, and returns the task."""
        return await self.client.prompt(self.session, json.dumps({"call": call, **more}))

    async def settled(self, call: Json, **more: Any) -> str:
        """Makes the agent ask for something that needs no person, and returns the answer it got."""
        task = await self.client.wait_task(await self.wants(call, **more))
        assert task["status"] == "completed"
        return answers(self.received)[-1]

    async def rows(self) -> list[Json]:
        return (await self.client.get(f"/api/approvals?sessionId={self.session}"))["approvals"]

    async def get(self) -> Json:
        return await self.client.get(f"/api/sessions/{self.session}")

    async def patch(self, **fields: Any) -> Json:
        return await self.client.call("PATCH", f"/api/sessions/{self.session}", json=fields)

    async def permissions(self) -> list[Json | None]:
        return [message.get("permission") for message in await messages(self.client, self.session, "tool")]

    async def rule(self, effect: Any, **conditions: Any) -> str:
        return (await self.server.services.rules.add(Caller(), NewRule(effect=effect, **conditions))).id

    def edit(self, name: str) -> Json:
        path = str(self.server.root / "repo" / name)
        return {"title": f"Write {name}", "kind": "edit", "locations": [{"path": path}]}


@contextlib.asynccontextmanager
async def wanting(folder: Path, mode: str = "default", **settings: Any) -> AsyncGenerator[Wanting]:
    received = add_wanting(folder)
    async with serving(folder, **settings) as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"], agent="wants", permissionMode=mode)
        yield Wanting(server, session["id"], received)
