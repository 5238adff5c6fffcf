"""Calls Bough's tools by JSON-RPC over POST, as a person or a session, and checks answers against the schemas."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from bough.core.live_agents.start import agent_tokens
from bough.model.values import own_tokens
from bough.storage.queries import Query
from tests.support.client import Client
from tests.support.server import Running

Json = dict[str, Any]

HEADERS = {"accept": "application/json, text/event-stream"}
ADOPT = Query(
    "adopt",
    "UPDATE keepers SET token_hash = :token_hash WHERE session_id = :session_id",
    "Gives the agent of a session another token.",
)
CODE = re.compile(r"\[(\w+)\]$")


class Mcp:
    """Calls tools with one token."""

    def __init__(self, http: httpx.AsyncClient, token: str) -> None:
        self._http = http
        self._token = token
        self._tools: dict[str, Json] = {}

    async def post(self, method: str, params: Json) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {**HEADERS, "authorization": f"Bearer {self._token}"}
        return await self._http.post("/mcp/", json=body, headers=headers)

    async def request(self, method: str, params: Json) -> Json:
        answer = await self.post(method, params)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    async def tools(self) -> dict[str, Json]:
        if not self._tools:
            self._tools = {tool["name"]: tool for tool in (await self.request("tools/list", {}))["tools"]}
        return self._tools

    async def raw(self, tool: str, arguments: Json) -> Json:
        """Returns the whole result of a call. Checks that its text and its structured content are the same, that this
        fits the listed schema, and that only errors have none."""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        (content,) = result["content"]
        assert content["type"] == "text"
        value = result.get("structuredContent")
        assert json.loads(content["text"]) == value if value is not None else result["isError"], result
        assert value is None or await self._mismatches(tool, value) == []
        return result

    async def _mismatches(self, tool: str, value: Json) -> list[str]:
        schema = (await self.tools())[tool]["outputSchema"]
        return list(map(str, Draft202012Validator(schema).iter_errors(value)))  # pyright: ignore[reportUnknownMemberType]

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Returns the structured result of a call that must work."""
        result = await self.raw(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    async def refused(self, tool: str, code: str, **arguments: Any) -> str:
        """Returns the text of a call that must be refused with this code."""
        result = await self.raw(tool, arguments)
        assert result["isError"], result
        text: str = result["content"][0]["text"]
        named = CODE.search(text)
        assert named is not None, text
        assert named[1] == code, text
        return text


def person(server: Running) -> Mcp:
    return Mcp(server.client.http, server.token)


async def agent_of(server: Running, session: Json) -> Mcp:
    """Returns a caller with a new token of a session whose agent has started; the agent's own is void from then on."""
    token = agent_tokens.mint(session["id"])
    store = server.services.store
    adopted = {"session_id": session["id"], "token_hash": own_tokens.hashed(token)}
    await store.write(lambda change: change.tx.run(ADOPT, **adopted))
    return Mcp(server.client.http, token)


async def opened(server: Running, mode: str = "bypassPermissions", **fields: Any) -> Json:
    """Creates a session of the demo agent and waits for its first turn."""
    repo = await server.client.repo(server.root / "repo" if (server.root / "repo").exists() else server.repo())
    session = await server.client.session(
        repo["id"], permissionMode=mode, **({"title": "first", "initialPrompt": "[[say ready]]"} | fields)
    )
    await server.client.wait_task(session["taskId"])
    return session


def directive(tool: str, **arguments: Any) -> str:
    """Returns the prompt that makes the demo agent call a tool."""
    return f"[[mcp {tool} {json.dumps(arguments)}]]"


async def by_agent(client: Client, session: Json, tool: str, **arguments: Any) -> Any:
    """Makes the demo agent of a session call a tool, and returns what it quotes of the result."""
    task = await client.ask(session["id"], directive(tool, **arguments))
    assert task["status"] == "completed", task
    text = (await client.texts(session["id"]))[-1]
    return json.loads(text)
