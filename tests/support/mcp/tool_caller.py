"""Plays the agent of a session: calls Bough's tools at the real endpoint with a real token."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from bough.core.live_agents.start import agent_tokens
from bough.model.values import own_tokens
from tests.support.client import Client

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class ToolAnswer(msgspec.Struct):
    """A tool's answer: an object, its text, and whether it is an error."""

    value: Any
    text: str
    wrong: bool


class Agent:
    """A caller that holds a session's token."""

    def __init__(self, http: httpx.AsyncClient, session_id: str, token: str, task_id: str = "") -> None:
        self._http = http
        self.id = session_id
        self.token = token
        # The agent's current turn.
        self.task_id = task_id

    async def post(self, tool: str, arguments: dict[str, Any], token: str | None = None) -> httpx.Response:
        """Sends a call and returns the raw response."""
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        headers = HEADERS | {"authorization": f"Bearer {self.token if token is None else token}"}
        # ASCII, so that invalid text can be sent too.
        return await self._http.post("/mcp/", content=json.dumps(body), headers=headers)

    async def call(self, tool: str, **arguments: Any) -> ToolAnswer:
        """Calls a tool."""
        answer = await self.post(tool, arguments)
        assert answer.status_code == 200, f"{tool}: {answer.status_code} {answer.text}"
        message = answer.json()
        assert "result" in message, message
        result = message["result"]
        return ToolAnswer(result.get("structuredContent"), result["content"][0]["text"], bool(result.get("isError")))

    async def does(self, tool: str, **arguments: Any) -> Any:
        """Calls a tool that must succeed and returns its value."""
        answer = await self.call(tool, **arguments)
        assert not answer.wrong, answer.text
        return answer.value

    async def fails(self, tool: str, **arguments: Any) -> str:
        """Calls a tool that must fail and returns the error text."""
        answer = await self.call(tool, **arguments)
        assert answer.wrong, answer
        return answer.text


@contextlib.asynccontextmanager
async def agent_in_turn(client: Client, data: Path, session_id: str, prompt: str = "[[hang]]") -> AsyncGenerator[Agent]:
    """Yields the agent of a session during a turn that does not end by itself. The database is the SQLite file in
    `data`."""
    task_id = await client.prompt(session_id, prompt)
    await client.wait_task(task_id, "running", "completed")
    async with agent_with_token(client.url, data, session_id, task_id) as agent:
        yield agent


@contextlib.asynccontextmanager
async def agent_with_token(url: str, data: Path, session_id: str, task_id: str = "") -> AsyncGenerator[Agent]:
    """Yields an agent with a new token for a session whose agent is awake."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield Agent(http, session_id, replace_token(data, session_id), task_id)


def replace_token(data: Path, session_id: str) -> str:
    """Replaces the token that a session's agent was started with, because only its hash is stored; returns the new
    one."""
    token = agent_tokens.mint(session_id)
    with contextlib.closing(sqlite3.connect(data / "bough.db", timeout=20)) as database, database:
        query = "UPDATE keepers SET token_hash = ? WHERE session_id = ?"
        changed = database.execute(query, (own_tokens.hashed(token), session_id)).rowcount
    assert changed == 1, f"session {session_id} has no agent at work"
    return token
