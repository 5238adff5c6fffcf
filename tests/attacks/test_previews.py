"""Attacks on previews: by other sites, by what is previewed, and by people who may not see it."""

from __future__ import annotations

import asyncio
import contextlib

import httpx
import pytest

from tests.api.error_responses import refused
from tests.api.preview.test_preview import app_run
from tests.api.worktree_helpers import made, registered
from tests.support.client import Json
from tests.support.people import as_user
from tests.support.server import Running


@pytest.fixture
async def previewed(server: Running) -> tuple[Json, str]:
    run = await app_run(server.client, await made(server.client, await registered(server)))
    return run, (await server.client.post(f"/api/runs/{run['id']}/preview"))["url"]


async def ask(server: Running, host: str, **headers: str) -> httpx.Response:
    """Asks the proxy under a host name, without resolving it."""
    address = f"http://127.0.0.1:{server.services.previews.port}/asked"
    async with httpx.AsyncClient(timeout=40, trust_env=False) as http:
        return await http.get(address, headers={"host": host, **headers})


async def test_other_names_reach_nothing(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5, L1: A name that leads to this machine (DNS rebinding), the machine's own names, and guesses open no preview,
    not even with the server's token."""
    host = httpx.URL(previewed[1]).netloc.decode()
    port = server.services.previews.port
    for name in (
        f"127.0.0.1:{port}",
        f"localhost:{port}",
        f"evil.example:{port}",
        f"{host.split('.')[0]}.evil.example:{port}",
        f"x{host}",
        host.replace(f":{port}", ":1"),
        f"p{'0' * 32}.localhost:{port}",
    ):
        answer = await ask(server, name, authorization=f"Bearer {server.token}")
        assert (answer.status_code, "preview is over" in answer.text) == (404, True), name
    assert (await ask(server, host)).status_code == 200


async def test_the_app_sees_nothing_of_bough(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5, L1: Tokens and cookies of Bough do not pass to the app; its own do."""
    host = httpx.URL(previewed[1]).netloc.decode()
    answer = await ask(
        server, host, cookie="bough_4100=secret; app=mine", authorization="Bearer bough_secret", te="trailers"
    )
    assert answer.status_code == 200, answer.text
    asked = answer.json()
    assert (asked["cookie"], "authorization" in asked) == ("app=mine", False)
    real = await ask(server, host, authorization=f"Bearer {server.token}")
    assert real.status_code == 200 and "authorization" not in real.json()
    assert (await ask(server, host, authorization="Bearer app")).json()["authorization"] == "Bearer app"


async def test_a_preview_s_origin_is_nobody_for_bough(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5, L1: Bough refuses requests that come from a preview's page or name its host, even with the token."""
    origin = previewed[1].removesuffix("/")
    http = server.client.http
    refused(await http.get("/api/repos", headers={"origin": origin}), 403, "foreign_origin")
    host = httpx.URL(previewed[1]).host
    refused(await http.get("/api/repos", headers={"host": f"{host}:1"}), 403, "foreign_host")


async def test_only_operators_preview(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5, L1: A viewer gets no address of a preview."""
    run, _ = previewed
    async with as_user(server, "vera", "viewer") as viewer:
        refused(await viewer.client.http.post(f"/api/runs/{run['id']}/preview"), 403, "role_too_low")


async def test_only_the_run_s_port_is_reached(server: Running, previewed: tuple[Json, str]) -> None:
    """Y5: No request leads the proxy elsewhere: neither an absolute address nor CONNECT, nor a second request on the
    connection under another name."""
    host = httpx.URL(previewed[1]).netloc.decode()
    port = server.services.previews.port
    for line in ("GET http://127.0.0.1:1/ HTTP/1.1", "CONNECT 127.0.0.1:1 HTTP/1.1", "GET //127.0.0.1:1 HTTP/1.0x"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{line}\r\nHost: {host}\r\n\r\n".encode())
        assert (await reader.read(1000)).startswith(b"HTTP/1.1 400 ")
        writer.close()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /asked HTTP/1.1\r\nHost: {host}\r\n\r\n"
    writer.write((head + head.replace("/asked", "/second")).encode())
    text = b""
    with contextlib.suppress(ConnectionError):
        text = await reader.read()
    assert text.count(b"HTTP/1.1 ") == 1
    writer.close()
