"""Tests previews: what runs in a worktree, seen through the proxy at an address of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import psutil
import pytest
from websockets.asyncio.client import connect

from bough.agents.network.http_head import BadRequest, parse_request
from bough.api.preview import heads
from tests.api.error_responses import refused
from tests.api.worktree_helpers import made, registered
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.server import Running

ROOT = Path(__file__).parents[3]
APP = f"cd {ROOT} && exec {sys.executable} -m tests.support.preview_app $PORT"


async def app_run(client: Client, worktree: Json, command: str = APP) -> Json:
    """Runs an app of the tests, and waits until it answers."""
    run = await client.post(f"/api/worktrees/{worktree['id']}/runs", {"command": command})

    async def answers() -> bool:
        return (await client.get(f"/api/runs/{run['id']}"))["answers"]

    await eventually(answers, "the app answers")
    return run


@pytest.fixture
async def previewed(server: Running) -> tuple[Json, str]:
    """Provides a run and the address of its preview."""
    run = await app_run(server.client, await made(server.client, await registered(server)))
    return run, (await server.client.post(f"/api/runs/{run['id']}/preview"))["url"]


@pytest.fixture
async def browser(server: Running, previewed: tuple[Json, str]) -> AsyncGenerator[httpx.AsyncClient]:
    """Provides a client that finds the preview's host on this machine, as browsers do."""
    port = server.services.previews.port
    host = httpx.URL(previewed[1]).netloc.decode()
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers={"host": host}, timeout=40, trust_env=False
    ) as http:
        yield http


async def test_an_app_is_seen(server: Running, previewed: tuple[Json, str], browser: httpx.AsyncClient) -> None:
    """Y5: The app is asked as if directly; only Bough's page may frame the answer, and cookies stay at its address."""
    run, url = previewed
    origin = url.removesuffix("/")
    answer = await browser.get("/")
    assert (answer.status_code, "The app" in answer.text) == (200, True)
    policies = answer.headers.get_list("content-security-policy")
    assert policies == ["base-uri 'self'", f"frame-ancestors 'self' {server.url}"]
    assert "x-frame-options" not in answer.headers
    assert "strict-transport-security" not in answer.headers
    assert answer.headers["set-cookie"] == "app=1; Path=/"
    asked = (await browser.get("/asked", headers={"origin": origin, "referer": url, "x-own": "yes"})).json()
    direct = f"http://localhost:{run['port']}"
    assert (asked["Host"], asked["origin"], asked["referer"]) == (direct.removeprefix("http://"), direct, f"{direct}/")
    assert asked["x-own"] == "yes"
    moved = await browser.get("/moved")
    assert (moved.status_code, moved.headers["location"]) == (302, f"{origin}/asked")


async def test_a_websocket_passes(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5: A development server's WebSocket works through the preview."""
    port = server.services.previews.port
    host = httpx.URL(previewed[1]).host
    reader_host = f"ws://{host}:{port}/"
    async with connect(reader_host, host="127.0.0.1", port=port, origin=None, proxy=None) as socket:
        await socket.send("hello")
        assert await socket.recv() == "hello"


async def test_an_app_closes_its_websocket(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5: The app's end of a WebSocket reaches the page with its code and reason, and the browser's end the app."""
    port = server.services.previews.port
    address = f"ws://{httpx.URL(previewed[1]).host}:{port}/"
    async with connect(address, host="127.0.0.1", port=port, origin=None, proxy=None) as socket:
        await socket.send("end")
        async with asyncio.timeout(40):
            await socket.wait_closed()
        assert (socket.close_code, socket.close_reason) == (4001, "over")


@pytest.mark.parametrize(("path", "viewers"), [("/stream", "0"), ("/deaf", "1")])
async def test_a_stream_arrives_piece_by_piece(
    server: Running, monkeypatch: pytest.MonkeyPatch, path: str, viewers: str
) -> None:
    """Y5: An answer without end arrives as the app sends it, and ends when its viewer leaves, also if the app does not
    notice that."""
    monkeypatch.setattr("bough.api.preview.proxy.REST_WITHIN", 0.5)
    command = APP.replace("preview_app", "preview_stream")
    run = await app_run(server.client, await made(server.client, await registered(server)), command)
    url = httpx.URL((await server.client.post(f"/api/runs/{run['id']}/preview"))["url"])
    port = server.services.previews.port
    assert port is not None
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers={"host": url.netloc.decode()}, timeout=40, trust_env=False
    ) as http:
        async with http.stream("GET", path) as answer:
            pieces = answer.aiter_bytes()
            assert await anext(pieces) == b"first"
            assert (await http.get("/viewers")).text == "1"
            for _ in range(2):
                await http.get("/next")
                assert await anext(pieces) == b"next"

        await eventually(lambda: _reads(http, "/viewers", viewers))
    await eventually(lambda: _connections(port) == 0)


async def _reads(http: httpx.AsyncClient, path: str, text: str) -> bool:
    return (await http.get(path)).text == text


def _connections(port: int) -> int:
    """Returns how many connections this server has accepted at a port."""
    connections = psutil.Process().net_connections("tcp")
    return sum(1 for place in connections if place.laddr.port == port and place.status != psutil.CONN_LISTEN)


async def test_the_address_stays_the_same(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5: A worktree's port has one address, which no other one has and nobody can guess."""
    run, url = previewed
    assert (await server.client.post(f"/api/runs/{run['id']}/preview"))["url"] == url
    assert len(httpx.URL(url).host.split(".")[0]) == 33
    repo = (await server.client.get("/api/repos"))["repos"][0]
    other = await app_run(server.client, await made(server.client, repo, "other"))
    assert (await server.client.post(f"/api/runs/{other['id']}/preview"))["url"] != url


async def test_it_is_over_with_its_worktree(
    server: Running, previewed: tuple[Json, str], browser: httpx.AsyncClient
) -> None:
    """Y5: While nothing answers the page tries again; after the end there is no new address, and without its worktree
    the old one is over."""
    run, _ = previewed
    await server.client.post(f"/api/runs/{run['id']}/stop")
    waiting = await browser.get("/")
    assert (waiting.status_code, "http-equiv" in waiting.text) == (502, True)
    refused(await server.client.http.post(f"/api/runs/{run['id']}/preview"), 409, "no_preview")
    await server.client.call("DELETE", f"/api/worktrees/{run['worktreeId']}")
    assert (await browser.get("/")).status_code == 404


async def test_malformed_requests_and_answers(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5: What is not HTTP is refused with a reason, and nothing of it reaches the app."""
    port = server.services.previews.port
    host = httpx.URL(previewed[1]).netloc.decode()
    for text in ("\x16\x03\x01", "GET / HTTP/1.1\r\n\r\n", f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text.encode() + b"\r\n\r\n")
        assert (await reader.read(1000)).startswith(b"HTTP/1.1 400 ")
        writer.close()


def test_heads() -> None:
    """Y5: Headers of one connection do not pass; a head that is none is refused."""
    request = parse_request(
        b"GET / HTTP/1.1\r\nHost: p.localhost:1\r\nConnection: keep-alive\r\nTE: x\r\nUpgrade: h2c\r\nA: b\r\n\r\n"
    )
    assert heads.host_of(request) == "p.localhost:1"
    assert heads.request_head(request, "http://p.localhost:1", 2) == (
        b"GET / HTTP/1.1\r\nHost: localhost:2\r\nA: b\r\nConnection: close\r\n\r\n"
    )
    for bad in (b"no\r\n\r\n", b"HTTP/1.1 999 x\r\n\r\n", b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"):
        with pytest.raises(BadRequest):
            heads.parse_answer(bad)
