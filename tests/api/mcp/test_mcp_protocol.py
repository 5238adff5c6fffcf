"""Tests every protocol revision of MCP on one address, and invalid requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from bough.api.mcp.protocol import guide
from bough.api.mcp.tools import all_tools
from tests.support.server import Running, serving

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
PATHS = ("/mcp", "/mcp/")
ACCEPT = {"accept": "application/json, text/event-stream"}
META = "io.modelcontextprotocol"
NAMES = [tool.name for tool in all_tools.TOOLS]


class Speaker:
    """A client of one revision that sends what clients of that revision send."""

    def __init__(self, server: Running, path: str, revision: str | None) -> None:
        self._http = server.client.http
        self._path = path
        self._revision = revision

    async def ask(self, method: str, **params: Any) -> httpx.Response:
        headers = dict(ACCEPT)
        if self._revision == MODERN:
            headers["mcp-method"] = method
            if name := params.get("name") or params.get("uri"):
                headers["mcp-name"] = str(name)
            params["_meta"] = {
                f"{META}/protocolVersion": MODERN,
                f"{META}/clientCapabilities": {},
                f"{META}/clientInfo": {"name": "test", "version": "1"},
            }
        if self._revision is not None and method != "initialize":
            headers["mcp-protocol-version"] = self._revision
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return await self._http.post(self._path, headers=headers, json=body)

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.ask(method, **params)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        body = answer.json()
        assert body["id"] == 7 and "error" not in body, body
        return body["result"]

    async def failure(self, method: str, **params: Any) -> dict[str, Any]:
        return (await self.ask(method, **params)).json()["error"]


async def _greet(speaker: Speaker, revision: str) -> dict[str, Any]:
    """Starts as clients of this revision do, and returns what the server says about itself."""
    if revision == MODERN:
        hello = await speaker.result("server/discover")
        spoken = hello["supportedVersions"]
    else:
        client_info = {"name": "test", "version": "1"}
        hello = await speaker.result("initialize", protocolVersion=revision, capabilities={}, clientInfo=client_info)
        spoken = [hello["protocolVersion"]]
    assert revision in spoken
    return hello


@pytest.mark.parametrize("path", PATHS)
async def test_every_revision_lists_and_calls(server: Running, path: str) -> None:
    """5, 5c: Clients of every revision list and call the same tools, with the slash and without, and no request depends
    on an earlier one."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], title="Seen")
    lists: list[Any] = []
    structured: dict[str, Any] = {}
    for revision in (*HANDSHAKES, MODERN):
        speaker = Speaker(server, path, revision)
        hello = await _greet(speaker, revision)
        assert set(hello["capabilities"]) == {"tools", "prompts", "resources"}
        assert guide.ADDRESS in hello["instructions"]
        tools = (await speaker.result("tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == NAMES
        lists.append([(tool["name"], tool["description"], tool["inputSchema"]) for tool in tools])
        called = await speaker.result("tools/call", name="agor_sessions_get", arguments={"sessionId": session["id"]})
        assert not called.get("isError")
        assert '"title":"Seen"' in called["content"][0]["text"]
        structured[revision] = called.get("structuredContent", {}).get("session_id")
    assert all(listed == lists[0] for listed in lists)
    # The first two revisions have no structured content.
    assert [structured[revision] for revision in (*HANDSHAKES[2:], MODERN)] == [session["id"]] * 3


async def test_the_server_names_itself(server: Running) -> None:
    """5: The answer to a handshake names the server."""
    for revision in HANDSHAKES:
        assert (await _greet(Speaker(server, "/mcp", revision), revision))["serverInfo"]["name"] == "bough"


async def test_without_a_revision(server: Running) -> None:
    """5: A client that names no revision, such as a script with curl, is served too."""
    speaker = Speaker(server, "/mcp", None)
    assert len((await speaker.result("tools/list"))["tools"]) == len(NAMES)
    assert (await speaker.result("tools/call", name="agor_repos_list", arguments={}))["structuredContent"]["total"] == 0


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_official_client(server: Running, mode: Literal["auto", "legacy"]) -> None:
    """5, 5c: The official Python client works with the current and the previous protocol, and can read the guide."""
    async with _official(server, mode) as client:
        assert client.protocol_version == (MODERN if mode == "auto" else HANDSHAKES[-1])
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES
        # The client checks the result against the tool's schema.
        called = await client.call_tool("agor_repos_list", {})
        assert called.structured_content == {"data": [], "total": 0, "limit": 50, "offset": 0}
        wrong = await client.call_tool("agor_sessions_get", {"sessionId": "nothing-like-it"})
        assert wrong.is_error
        (listed,) = (await client.list_resources()).resources
        assert (await client.list_resource_templates()).resource_templates == []
        (read,) = (await client.read_resource(str(listed.uri))).contents
        assert getattr(read, "text", None) == guide.text()
        assert listed.size == len(guide.text().encode())
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == list(guide.PROMPTS)
        filled = await client.get_prompt("delegate", {"work": "Sort the imports."})
        assert "Sort the imports." in getattr(filled.messages[0].content, "text", "")
        with pytest.raises(MCPError, match="needs work"):
            await client.get_prompt("delegate", {})
        with pytest.raises(MCPError, match="no prompt"):
            await client.get_prompt("nothing", {})
        with pytest.raises(MCPError, match="no resource"):
            await client.read_resource("bough://guides/nothing")


@asynccontextmanager
async def _official(server: Running, mode: Literal["auto", "legacy"]) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {server.token}"}) as http,
        Client(streamable_http_client(f"{server.url}/mcp/", http_client=http), mode=mode) as client,
    ):
        yield client


async def test_an_unknown_resource(server: Running) -> None:
    """5: An unknown resource is an error with the code of each revision."""
    for revision, code in ((HANDSHAKES[-1], -32002), (MODERN, -32602)):
        error = await Speaker(server, "/mcp/", revision).failure("resources/read", uri="bough://nothing")
        assert error["code"] == code
        assert error["data"] == {"uri": "bough://nothing"}


async def test_only_post(server: Running) -> None:
    """5: There is no stream to open and no session to end, so no client keeps a connection open for nothing."""
    for revision in (None, *HANDSHAKES, MODERN):
        headers = ACCEPT | ({"mcp-protocol-version": revision} if revision else {})
        for path in PATHS:
            for method in ("GET", "DELETE", "PUT", "PATCH", "HEAD"):
                answer = await server.client.http.request(method, path, headers=headers)
                assert (answer.status_code, answer.headers["allow"], answer.content) == (405, "POST", b""), method


async def test_no_token(server: Running) -> None:
    """5d: A client without a token learns nothing, whatever the method."""
    for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic eDp5"}):
        async with httpx.AsyncClient(base_url=server.url, headers=header) as http:
            for method in ("GET", "POST", "DELETE"):
                answer = await http.request(method, "/mcp/", headers=ACCEPT)
                assert (answer.status_code, answer.content) == (401, b"")
                assert "www-authenticate" not in answer.headers


async def test_foreign_origins_and_hosts(server: Running) -> None:
    """5, S: A page of another site, or another name for this machine, cannot reach the tools, with or without a
    token."""
    for foreign in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"origin": "null"}):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        answer = await server.client.http.post("/mcp/", headers=ACCEPT | foreign, json=body)
        assert answer.status_code == 403
        assert "tools" not in answer.text


async def test_invalid_requests(server: Running) -> None:
    """5: Refuses batches, broken JSON, invalid values and unknown methods with the protocol's own errors, in every
    revision."""
    for revision in (None, *HANDSHAKES, MODERN):
        await _refuses(server, revision)


async def _refuses(server: Running, revision: str | None) -> None:
    http, speaker = server.client.http, Speaker(server, "/mcp/", revision)
    headers = ACCEPT | {"content-type": "application/json"} | ({"mcp-protocol-version": revision} if revision else {})

    batch = await http.post("/mcp/", headers=headers, json=[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}])
    assert batch.status_code == 400
    assert batch.json()["error"]["code"] in (-32600, -32602)
    for broken in (b"{nope", b"", b"\xff\xfe", b"[" * 100_000):
        answer = await http.post("/mcp/", headers=headers, content=broken)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] in (-32700, -32600)
    for odd in (b"17", b'"tools/list"', b"{}", b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}'):
        assert (await http.post("/mcp/", headers=headers, content=odd)).status_code == 400
    assert (await speaker.failure("tools/nothing"))["code"] == -32601
    unknown = await speaker.result("tools/call", name="nothing", arguments={})
    assert unknown["isError"] and "unknown_tool" in unknown["content"][0]["text"]
    assert len((await speaker.result("tools/list"))["tools"]) == len(NAMES)


async def test_too_large(server: Running) -> None:
    """5, S: Refuses a body over `max_body` before reading it, with and without a declared length."""
    async with serving(server.data.parent / "small", max_body=10_000) as small:

        async def parts() -> AsyncGenerator[bytes]:
            for _ in range(20):
                yield b" " * 1000

        for content in (b" " * 20_000, parts()):
            headers = ACCEPT | {"content-type": "application/json"}
            answer = await small.client.http.post("/mcp/", headers=headers, content=content)
            assert answer.status_code == 413
        assert (await Speaker(small, "/mcp", MODERN).result("tools/list"))["tools"]


async def test_headers_of_the_current_revision(server: Running) -> None:
    """5: Refuses a request of 2026-07-28 whose headers and body disagree; spaces around a value do not count."""
    body: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "agor_repos_list",
            "arguments": {},
            "_meta": {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}},
        },
    }
    right = ACCEPT | {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "agor_repos_list"}
    http = server.client.http
    assert (await http.post("/mcp/", headers=right, json=body)).status_code == 200
    for name, value in (("mcp-name", "agor_boards_list"), ("mcp-method", "tools/list"), ("mcp-method", "")):
        answer = await http.post("/mcp/", headers=right | {name: value}, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)
    unknown = await http.post("/mcp/", headers=right | {"mcp-protocol-version": "2031-01-01"}, json=body)
    assert unknown.status_code == 400
    assert await _raw_name(server, "  agor_repos_list \t") == 200


async def _raw_name(server: Running, name: str) -> int:
    """Returns the status of a call with exactly these bytes as a header; clients would trim it."""
    meta = f'{{"{META}/protocolVersion":"{MODERN}","{META}/clientCapabilities":{{}}}}'
    params = f'{{"name":"agor_repos_list","arguments":{{}},"_meta":{meta}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    port = int(server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST /mcp/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Accept: {ACCEPT['accept']}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name:{name}\r\nConnection: close\r\n\r\n"
        f"{body}".encode()
    )
    answer = await reader.read()
    writer.close()
    return int(answer.split()[1])


async def test_notifications(server: Running) -> None:
    """5: Accepts notifications without an answer, in every revision."""
    for revision in (None, *HANDSHAKES, MODERN):
        headers = ACCEPT | ({"mcp-protocol-version": revision} if revision else {})
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        answer = await server.client.http.post("/mcp/", headers=headers, json=body)
        assert (answer.status_code, answer.content) == (202, b"")


async def test_many_at_once(server: Running) -> None:
    """5, 5c: Concurrent clients of different revisions each get their own answer."""
    revisions = (*HANDSHAKES, MODERN) * 8
    speakers = [Speaker(server, PATHS[index % 2], revision) for index, revision in enumerate(revisions)]
    requests = [
        speaker.result("tools/call", name="get_session_status", arguments={"sessionId": "no"}) for speaker in speakers
    ]
    for called in await asyncio.gather(*requests):
        assert '"exists":false' in called["content"][0]["text"]
