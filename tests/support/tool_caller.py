"""The agent of a session in the hands of a test: its token is a real one, and it calls Bough's tools at the real door.
Servers and people are `server` and `client`."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from bough.core.turns import tokens
from tests.support.client import Client

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Said(msgspec.Struct):
    """What a tool has answered: an object, its text, and whether it is an error."""

    value: Any
    text: str
    wrong: bool


class Agent:
    """Whoever holds a token at the door for agents."""

    def __init__(self, http: httpx.AsyncClient, session_id: str, token: str, task_id: str = "") -> None:
        self._http = http
        self.id = session_id
        self.token = token
        # The turn that it is in.
        self.task_id = task_id

    async def post(self, tool: str, arguments: dict[str, Any], token: str | None = None) -> httpx.Response:
        """A call as it goes over the line."""
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        headers = HEADERS | {"authorization": f"Bearer {self.token if token is None else token}"}
        # In ASCII, so that what is no text can be sent too.
        return await self._http.post("/mcp/", content=json.dumps(body), headers=headers)

    async def call(self, tool: str, **arguments: Any) -> Said:
        """Calls a tool."""
        answer = await self.post(tool, arguments)
        assert answer.status_code == 200, f"{tool}: {answer.status_code} {answer.text}"
        told = answer.json()
        assert "result" in told, told
        result = told["result"]
        return Said(result.get("structuredContent"), result["content"][0]["text"], bool(result.get("isError")))

    async def does(self, tool: str, **arguments: Any) -> Any:
        """Calls a tool that is to succeed; gives what it answers."""
        said = await self.call(tool, **arguments)
        assert not said.wrong, said.text
        return said.value

    async def fails(self, tool: str, **arguments: Any) -> str:
        """Calls a tool that is to fail; gives what it says."""
        said = await self.call(tool, **arguments)
        assert said.wrong, said
        return said.text


@contextlib.asynccontextmanager
async def acting(client: Client, data: Path, session_id: str, prompt: str = "[[hang]]") -> AsyncGenerator[Agent]:
    """The agent of a session while a turn of it runs that never ends by itself; the database is SQLite's in `data`."""
    task_id = await client.prompt(session_id, prompt)
    await client.wait_task(task_id, "running", "completed")
    async with calling(client.url, data, session_id, task_id) as agent:
        yield agent


@contextlib.asynccontextmanager
async def calling(url: str, data: Path, session_id: str, task_id: str = "") -> AsyncGenerator[Agent]:
    """An agent with a new token for a session whose agent is awake."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield Agent(http, session_id, take(data, session_id), task_id)


def take(data: Path, session_id: str) -> str:
    """A token in place of the one that a session's agent was started with: only its hash is kept."""
    token = tokens.mint(session_id)
    with contextlib.closing(sqlite3.connect(data / "bough.db", timeout=20)) as database, database:
        query = "UPDATE keepers SET token_hash = ? WHERE session_id = ?"
        changed = database.execute(query, (tokens.hashed(token), session_id)).rowcount
    assert changed == 1, f"session {session_id} has no agent at work"
    return token
