"""Attacks with what a browser holds: its cookie, which every port of the host receives, and its page key."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from unittest.mock import AsyncMock
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from bough.core.access import page_keys
from bough.errors import Busy
from tests.api.error_responses import refused
from tests.support.browser import SignedIn, follow_link, signed_in
from tests.support.eventually import eventually
from tests.support.server import Running, serving

SOCKETS = ("/api/events", "/acp")


def socket_address(server: Running, path: str = "/api/events") -> str:
    return f"{server.url.replace('http', 'ws', 1)}{path}"


def protocols(browser: SignedIn) -> list[Subprotocol]:
    return [Subprotocol(name) for name in browser.socket_protocols]


async def close_code(server: Running, headers: dict[str, str], path: str = "/api/events") -> int:
    """Returns the code with which a socket that must be refused is closed."""
    async with connect(socket_address(server, path), additional_headers=headers) as socket:
        with pytest.raises(ConnectionClosed) as caught:
            await socket.recv()
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code


async def test_the_cookie_opens_nothing_but_the_page(server: Running) -> None:
    """L1: A dev server on another port receives the cookie; replayed, it opens no route, tool or socket."""
    document = await server.client.get("/openapi.json")
    async with signed_in(server.url, server.token) as browser:
        stolen = {"cookie": browser.cookie, "origin": server.url, "sec-fetch-site": "same-origin"}
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as thief:
            for path, item in document["paths"].items():
                if path == "/api/health":
                    continue
                for method in item:
                    address = path.replace("{", "").replace("}", "")
                    refused(await thief.request(method, address, headers=stolen, json={}), 401, "unauthenticated")
            for path in ("/openapi.json", "/metrics", "/api/events", "/nowhere.json/x"):
                refused(await thief.get(path, headers=stolen), 401, "unauthenticated")
            assert (await thief.post("/mcp/", headers=stolen, json={})).status_code == 401
            # Without a ticket, the cookie is exchanged for nothing.
            refused(await thief.post("/sign-in", headers=stolen, json={"ticket": "x"}), 401, "unauthenticated")
            assert (await thief.get("/", headers=stolen)).status_code == 200
        for path in SOCKETS:
            assert await close_code(server, {"Cookie": browser.cookie, "Origin": server.url}, path) == 4401


async def test_the_cookie_contains_no_secret_of_the_server(server: Running) -> None:
    """L1: The cookie is random: it is neither the token nor the key, and cannot be sent in their place."""
    async with signed_in(server.url, server.token) as browser, signed_in(server.url, server.token) as other:
        (value,) = browser.http.cookies.values()
        assert value not in (server.token, browser.key)
        assert list(other.http.cookies.values()) != [value]
        for secret in (value, browser.key_id):
            headers = {"authorization": f"Bearer {secret}"}
            refused(await browser.http.get("/api/sessions", headers=headers), 401, "unauthenticated")


async def test_a_key_is_bound_to_its_origin(tmp_path: Path) -> None:
    """L1: A key works only under the host name and port where the browser was signed in."""
    async with serving(tmp_path, allowed_hosts="box.example") as server, signed_in(server.url, server.token) as browser:
        port = urlsplit(server.url).port
        bearer = {"authorization": f"Bearer {browser.key}"}
        assert (await browser.http.get("/api/sessions", headers=bearer)).status_code == 200
        for host in (f"localhost:{port}", f"box.example:{port}", "127.0.0.1", "127.0.0.1:1", f"[::1]:{port}"):
            refused(await browser.http.get("/api/sessions", headers=bearer | {"host": host}), 401, "unauthenticated")
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
            refused(await browser.http.get("/api/sessions", headers=bearer | {"origin": origin}), 403, "foreign_origin")
        for method in ("POST", "PATCH", "DELETE"):
            refused(await browser.http.request(method, "/api/boards/x", headers=bearer), 403, "foreign_origin")
        assert await close_code(server, {"Authorization": f"Bearer {browser.key}"}) == 4403


async def test_a_ticket_works_once_and_only_for_its_browser(server: Running) -> None:
    """L1: A ticket that was read from a browser's history, or stolen without the cookie, opens nothing."""
    own = {"origin": server.url}
    async with httpx.AsyncClient(base_url=server.url) as browser, httpx.AsyncClient(base_url=server.url) as thief:
        ticket = await follow_link(browser, server.token)
        refused(await thief.post("/sign-in", json={"ticket": ticket}, headers=own), 401, "unauthenticated")
        assert (await browser.post("/sign-in", json={"ticket": ticket}, headers=own)).status_code == 201
        again = await browser.post("/sign-in", json={"ticket": ticket}, headers=own)
        assert "bough open" in refused(again, 401, "unauthenticated")["message"]
        refused(await browser.get("/api/sessions", headers={"authorization": f"Bearer {ticket}"}), 401)
        # The cookie of another sign-in does not help with this one's ticket either.
        other_ticket = await follow_link(thief, server.token)
        foreign = {"origin": "http://127.0.0.1:1"}
        refused(await thief.post("/sign-in", json={"ticket": other_ticket}, headers=foreign), 403)


async def test_a_revoked_key_opens_nothing_and_its_socket_ends(server: Running) -> None:
    """L1: After a revocation, requests, the page itself and open sockets of that browser end; others continue."""
    origin = Origin(server.url)
    async with (
        signed_in(server.url, server.token) as browser,
        signed_in(server.url, server.token) as other,
        connect(socket_address(server), subprotocols=protocols(browser), origin=origin) as socket,
        connect(socket_address(server), subprotocols=protocols(other), origin=origin) as other_socket,
    ):
        assert socket.subprotocol == "bough"
        assert b"stream.ready" in await socket.recv(decode=False)
        assert b"stream.ready" in await other_socket.recv(decode=False)
        await server.client.call("DELETE", f"/api/tokens/{browser.key_id}")
        with pytest.raises(ConnectionClosed):
            while True:
                await socket.recv()
        refused(await browser.http.get("/api/sessions", headers=browser.headers), 401, "unauthenticated")
        assert (await browser.http.get("/")).status_code == 401
        assert (await other.http.get("/api/sessions", headers=other.headers)).status_code == 200
        await server.client.post("/api/boards", {"name": "x"})
        assert b"board.created" in await other_socket.recv(decode=False)


async def test_a_key_is_not_enough_to_learn_the_server_token(server: Running) -> None:
    """L1: A page key can be revoked, so it must not lead to the token, which opens everything for good."""
    async with signed_in(server.url, server.token) as browser:
        answer = await browser.http.post("/api/tokens/rotate", headers=browser.headers, json={})
        refused(answer, 403, "needs_server_token")
        for path in ("/api/tokens", "/api/settings", "/"):
            assert server.token not in (await browser.http.get(path, headers=browser.headers)).text


async def test_an_agent_reaches_no_token(server: Running) -> None:
    """L1: An agent's token is valid only at the tools' door, and no tool lists, revokes or replaces tokens."""
    agent = {"authorization": "Bearer bough-session-00000000-0000-7000-8000-000000000000.x"}
    async with httpx.AsyncClient(base_url=server.url, headers=agent) as http:
        for method, path in (("GET", "/api/tokens"), ("POST", "/api/tokens/rotate"), ("DELETE", "/api/tokens/server")):
            refused(await http.request(method, path, json={}), 401, "unauthenticated")


async def test_a_rotated_token_opens_nothing(server: Running) -> None:
    """L1: The old token, its links and the streams it opened end at once; signed-in browsers continue."""
    async with signed_in(server.url, server.token) as browser:
        old = {"Authorization": f"Bearer {server.token}"}
        async with connect(socket_address(server), additional_headers=old) as socket:
            assert b"stream.ready" in await socket.recv(decode=False)
            rotated = await server.client.post("/api/tokens/rotate", {})
            with pytest.raises(ConnectionClosed):
                while True:
                    await socket.recv()
        assert rotated["token"] != server.token
        assert rotated["revoked"] == []
        refused(await server.client.http.get("/api/sessions"), 401, "unauthenticated")
        assert (await browser.http.get("/", params={"token": server.token})).status_code == 200, "only by its cookie"
        async with httpx.AsyncClient(base_url=server.url) as stranger:
            assert (await stranger.get("/", params={"token": server.token})).status_code == 401
            assert (await stranger.get("/", params={"token": rotated["token"]})).status_code == 303
        assert (await browser.http.get("/api/sessions", headers=browser.headers)).status_code == 200
        assert (server.data / "token").read_text().strip() == rotated["token"]
        assert (server.data / "token").stat().st_mode & 0o777 == 0o600
        assert rotated["token"] in (server.data / "server.json").read_text()


async def test_only_hashes_are_stored(tmp_path: Path) -> None:
    """L1: Neither key, cookie nor ticket is in the database, and the keys work after a restart."""
    async with serving(tmp_path) as server, signed_in(server.url, server.token) as browser:
        secrets = [browser.key, *browser.http.cookies.values()]
        headers, url = browser.headers, server.url
    with sqlite3.connect(tmp_path / "data/bough.db") as db:
        rows = repr(db.execute("SELECT * FROM page_keys").fetchall())
    assert rows != "[]"
    assert not [secret for secret in secrets if secret in rows]
    async with serving(tmp_path) as server, httpx.AsyncClient(base_url=server.url) as http:
        assert server.url == url, "the port is remembered"
        assert (await http.get("/api/sessions", headers=headers)).status_code == 200


async def test_an_expired_key_opens_nothing(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: A key ends after its lifetime, with its cookie."""
    monkeypatch.setattr("bough.core.access.page_keys.LIFETIME", 0.3)
    async with signed_in(server.url, server.token) as browser:

        async def locked() -> bool:
            return (await browser.http.get("/")).status_code == 401

        await eventually(locked)
        refused(await browser.http.get("/api/sessions", headers=browser.headers), 401, "unauthenticated")
        assert [token["id"] for token in (await server.client.get("/api/tokens"))["tokens"]] == ["server"]


async def test_a_failed_write_does_not_end_the_records(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: After a failure of the database, later uses of keys are recorded again."""
    keys = server.services.page_keys
    record = AsyncMock(side_effect=[Busy("busy", "The database is away."), *[None] * 1000])
    monkeypatch.setattr(page_keys, "USE_RECORDED_EVERY", 0.01)
    monkeypatch.setattr(keys, "record_uses", record)
    running = asyncio.create_task(keys.run())
    await eventually(lambda: record.await_count >= 2 or None)
    running.cancel()
