"""Helpers for the tests of trees: branches in one line, reports as rows, and waiting until a tree is idle."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bough.model.session import MODES, Caller
from bough.model.trees.tree import Callback
from tests.support.client import Client, Json
from tests.support.repos import make_repo
from tests.support.server import Running, serving

T = TypeVar("T")

# Agents that learn the past in each possible way: by a copy of their own, told once, told each time.
KINDS = {"native": [], "told": ["fork"], "forgetful": ["fork", "load", "resume"]}


def add_demo(folder: Path, name: str, without: list[str], **fields: Any) -> None:
    """Adds a demo agent with fewer abilities to the catalog of a server that has not started yet, below `folder`."""
    agents = folder / "data" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    command = ["{python}", "-m", "bough.agents.demo", *(["--without", ",".join(without)] if without else [])]
    lines = [
        f'title = "{name}"',
        f"command = {json.dumps(command)}",
        f"resume = {json.dumps('resume' not in without)}",
        'model-option = "model"',
        'effort-option = "effort"',
        *(f"{key.replace('_', '-')} = {json.dumps(value)}" for key, value in fields.items()),
        'env = { BOUGH_DEMO_HOME = "{data}/demo" }',
        'quirks = { usage = "session" }',
        "[modes]",
        *(f'{mode} = "{mode}"' for mode in MODES),
    ]
    (agents / f"{name}.toml").write_text("\n".join(lines) + "\n", "utf-8")


@dataclass
class Grove:
    """A server with one repository, and trees in it."""

    server: Running
    repo_id: str

    @property
    def client(self) -> Client:
        return self.server.client

    async def root(self, **fields: Any) -> str:
        return (await self.client.session(self.repo_id, **fields))["id"]

    async def fork(self, session: str, prompt: str | None = None, **fields: Any) -> tuple[str, str]:
        return await branch(self.client, "fork", session, prompt, **fields)

    async def spawn(self, session: str, prompt: str, **fields: Any) -> tuple[str, str]:
        return await branch(self.client, "spawn", session, prompt, **fields)

    async def btw(self, session: str, prompt: str, **fields: Any) -> tuple[str, str]:
        return await branch(self.client, "btw", session, prompt, **fields)

    async def say(self, session: str, text: str) -> str:
        """Returns what the agent answers to a prompt."""
        return await answer(self.client, await self.client.prompt(session, text))

    async def get(self, session: str) -> Json:
        return await self.client.get(f"/api/sessions/{session}")

    async def tasks(self, session: str) -> list[Json]:
        return (await self.client.get(f"/api/sessions/{session}/tasks?limit=200"))["tasks"]

    async def callbacks(self, session: str) -> list[Callback]:
        """Returns the reports that a session has sent or received, oldest first."""
        page = await self.server.services.callbacks.list(session, None, 500, 0)
        return list(reversed(page.rows))

    async def contents(self, session: str, kind: str) -> list[Json]:
        return await contents(self.client, session, kind)

    async def refused(self, path: str, body: Json, status: int = 409) -> Json:
        """Returns the error of a request to a session that must be refused."""
        return (await self.client.post(f"/api/sessions/{path}", body, expect=status))["error"]

    async def rested(self, session: str, count: int) -> list[Json]:
        """Waits until a session has this many tasks and all have ended, and returns them."""
        return await rested(self.client, session, count)


@contextlib.asynccontextmanager
async def grove(folder: Path, **settings: Any) -> AsyncGenerator[Grove]:
    async with serving(folder, **settings) as server:
        repo = server.root / "repo"
        registered = await server.client.repo(repo if repo.exists() else make_repo(repo))
        yield Grove(server, registered["id"])


def session_caller(session: str) -> Caller:
    """Returns the caller that uses a session's own token."""
    return Caller(kind="session", id=session)


async def branch(client: Client, kind: str, session: str, prompt: str | None, **fields: Any) -> tuple[str, str]:
    """Creates a branch and returns its session and the task of its first prompt (empty if it has none)."""
    body = {"prompt": prompt, **fields} if prompt is not None else fields
    created = await client.post(f"/api/sessions/{session}/{kind}", body)
    return created["sessionId"], created["taskId"] or ""


async def answer(client: Client, task: str) -> str:
    """Returns what the agent said in a turn that completed."""
    ended = await client.wait_task(task)
    assert ended["status"] == "completed", ended
    messages = await client.get(f"/api/sessions/{ended['sessionId']}/messages")
    return "\n".join(
        item["content"]["text"]
        for item in messages
        if item["taskId"] == task and item["role"] == "agent" and item["content"]["type"] == "text"
    )


async def contents(client: Client, session: str, kind: str) -> list[Json]:
    """The contents of one type in a transcript."""
    messages = await client.get(f"/api/sessions/{session}/messages")
    return [item["content"] for item in messages if item["content"]["type"] == kind]


async def rested(client: Client, session: str, count: int) -> list[Json]:
    async def look() -> list[Json] | None:
        tasks = (await client.get(f"/api/sessions/{session}/tasks?limit=200"))["tasks"]
        return tasks if len(tasks) >= count and all(task["endedAt"] for task in tasks) else None

    return await client.eventually(look)
