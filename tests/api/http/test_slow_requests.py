"""Tests that requests that are too large or too slow are refused and block nobody."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlsplit

import httpx
import pytest

from bough.api.server import limits, middleware
from tests.api.error_responses import refused
from tests.support.client import PATIENCE
from tests.support.server import Running

SOON = 0.05


async def answered(server: Running, *parts: bytes) -> tuple[int, str]:
    """Sends these bytes and nothing more; returns the status and error code that the server answers before it hangs
    up."""
    port = urlsplit(server.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE):
            try:
                for part in parts:
                    writer.write(part)
                    await writer.drain()
            except ConnectionError:
                pass  # refused before everything was sent
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    return int(head.split()[1]), json.loads(body)["error"]["code"]


def head(server: Running, *lines: str) -> bytes:
    """Returns the head of a request with the token, without the empty line at its end."""
    first = ("POST /api/boards HTTP/1.1", "host: 127.0.0.1", f"authorization: Bearer {server.token}")
    return "".join(f"{line}\r\n" for line in (*first, *lines)).encode()


async def test_large_heads(server: Running) -> None:
    """A4: A head beyond 64 KiB gets 431, complete or not; a large one within the limit is accepted."""
    within = {"x-large": "x" * 60_000}
    assert (await server.client.http.get("/api/boards", headers=within)).status_code == 200
    for headers in ({"x-large": "x" * 70_000}, {f"x-{number}": "x" * 1000 for number in range(70)}):
        refused(await server.client.http.get("/api/boards", headers=headers), 431, "headers_too_large")
    address = b"GET /api/boards?" + b"x" * 60_000 + b" HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
    assert await answered(server, address + b"x-large: " + b"x" * 6_000 + b"\r\n\r\n") == (431, "headers_too_large")
    endless = head(server, "x-large: ").removesuffix(b"\r\n")
    # Sends one byte too many and nothing after it: if unread bytes were left, hanging up would discard the answer too.
    rest = b"x" * (limits.LARGEST_HEAD + 1 - len(endless))
    assert await answered(server, endless, rest[:-1], rest[-1:]) == (431, "headers_too_large")
    assert (await server.client.get("/api/health"))["status"] == "ok"


async def test_bytes_that_are_not_http(server: Running) -> None:
    """A4: Bytes that are not a request are refused in the common shape too."""
    assert await answered(server, b"\x16\x03\x01 hello\r\n\r\n") == (400, "bad_request")


async def test_heads_that_never_arrive(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: A connection that sends nothing, or half a request, is closed after a while."""
    monkeypatch.setattr(limits, "HEAD_WITHIN", SOON)
    assert await answered(server) == (408, "request_timeout")
    assert await answered(server, head(server)) == (408, "request_timeout")


async def test_bodies_that_never_arrive(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A4: A body that stops in the middle gets 408 and has no effect; one that arrives in pieces is accepted."""
    monkeypatch.setattr(middleware, "BODY_WITHIN", SOON)
    half = head(server, "content-length: 100") + b'\r\n{"name": "half'
    assert await answered(server, half) == (408, "request_timeout")
    assert await answered(server, head(server, "transfer-encoding: chunked") + b"\r\n") == (408, "request_timeout")
    assert (await server.client.get("/api/boards"))["total"] == 1
    monkeypatch.setattr(middleware, "BODY_WITHIN", PATIENCE)
    port = urlsplit(server.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"name": "in pieces"}'
    writer.write(head(server, f"content-length: {len(body)}") + b"\r\n")
    for piece in (body[:5], body[5:6], body[6:]):
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    assert b" 201 " in await reader.readline()
    writer.close()


async def test_streams_have_no_time_limit(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A3: An event stream stays open as long as its client listens, because its request arrived completely."""
    monkeypatch.setattr(middleware, "BODY_WITHIN", SOON)
    monkeypatch.setattr(limits, "HEAD_WITHIN", SOON)
    async with server.client.http.stream("GET", "/api/events") as stream:
        lines = stream.aiter_lines()
        await asyncio.wait_for(anext(lines), PATIENCE)
        # A slow request that started after it has timed out by now.
        assert await answered(server, head(server, "content-length: 100") + b"\r\n{") == (408, "request_timeout")
        await server.client.post("/api/boards", {"name": "later"})
        async with asyncio.timeout(PATIENCE):
            while "board.created" not in await anext(lines):
                pass


async def test_head_and_options(server: Running) -> None:
    """A4: HEAD returns the same as GET without a body, also for streams; OPTIONS and 405 name all allowed methods."""
    http = server.client.http
    for path in ("/api/boards", "/api/health", "/metrics", "/openapi.json", "/"):
        got, headed = await http.get(path), await http.head(path)
        assert (headed.status_code, headed.content) == (200, b"")
        assert headed.headers["content-type"] == got.headers["content-type"]
    assert (await http.head("/api/events")).headers["content-type"].startswith("text/event-stream")
    assert (await http.head("/api/sessions/00000000")).status_code == 404
    assert (await http.head("/api/sessions/00000000/prompt")).status_code == 405
    async with httpx.AsyncClient(base_url=server.url) as stranger:
        assert (await stranger.head("/api/health")).status_code == 200
        assert (await stranger.head("/api/boards")).status_code == 401
    for path, methods in (
        ("/api/boards", "GET, HEAD, OPTIONS, POST"),
        ("/api/boards/00000000", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("/api/sessions/00000000/prompt", "OPTIONS, POST"),
    ):
        assert (await http.options(path)).headers["allow"] == methods
        assert (await http.put(path)).headers["allow"] == methods


async def test_headers_of_every_response(server: Running) -> None:
    """L1: No response, including refusals, can be cached or taken for another content type."""
    http = server.client.http
    for answer in (await http.get("/api/boards"), await http.get("/nowhere"), await http.get("/metrics")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
    async with httpx.AsyncClient(base_url=server.url) as stranger:
        refusal = await stranger.get("/api/boards")
        assert (refusal.status_code, refusal.headers["cache-control"]) == (401, "no-store")
