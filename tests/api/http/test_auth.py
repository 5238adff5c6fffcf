"""Tests authentication: tokens, the page's key and cookie, Host and Origin, on HTTP and WebSocket."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from bough.api.http.server_token import load_token
from tests.api.error_responses import refused
from tests.support.browser import signed_in
from tests.support.server import Running, serving


def bare(server: Running) -> httpx.AsyncClient:
    """Returns a client without a token."""
    return httpx.AsyncClient(base_url=server.url, timeout=30)


def port(server: Running) -> int:
    number = urlsplit(server.url).port
    assert number is not None
    return number


async def trade(server: Running) -> tuple[str, str]:
    """Returns the cookie that the server's link is traded for."""
    async with bare(server) as http:
        answer = await http.get("/", params={"token": server.token})
        name, _, value = answer.headers["set-cookie"].split(";")[0].partition("=")
        return name, value


async def test_every_route_requires_a_token(server: Running) -> None:
    """L1: Without a token every route of the OpenAPI document refuses, except `GET /api/health`."""
    document = await server.client.get("/openapi.json")
    async with bare(server) as http:
        answers = {
            f"{method} {path}": await http.request(method, path.replace("{", "").replace("}", ""))
            for path, item in document["paths"].items()
            for method in item
        }
        assert answers.pop("get /api/health").status_code == 200
        for answer in answers.values():
            refused(answer, 401, "unauthenticated")
            assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/openapi.json", "/openapi/openapi.json", "/docs", "/metrics", "/nowhere", "/api/health/"):
            refused(await http.get(path), 401, "unauthenticated")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            refused(await http.request(method, "/api/health"), 401, "unauthenticated")
            refused(await http.request(method, "/"), 401, "unauthenticated")


async def test_only_the_whole_token_is_accepted(server: Running) -> None:
    """L1: Refuses anything that is not exactly the token, or is sent in another way."""
    token = server.token
    wrong = [
        "",
        "Bearer",
        "Bearer x",
        f"Bearer {token[:-1]}",
        f"Bearer {token[1:]}",
        f"Bearer {token}x",
        f"Bearer {token.swapcase()}",
        f"Basic {token}",
        token,
        f"Bearer{token}",
        f"Bearer {token} {token}",
    ]
    async with bare(server) as http:
        for header in wrong:
            refused(await http.get("/api/sessions", headers={"authorization": header}), 401)
        for header in (f"Bearer {token}".encode() + b"\xff", b"Bearer \xf0\x9f\x8c\xb1"):
            refused(await http.get("/api/sessions", headers={b"authorization": header}), 401)
        refused(await http.get("/api/sessions", params={"token": token}), 401)
        refused(await http.get("/api/sessions", headers={"cookie": f"bough_{port(server)}={token}"}), 401)
        for header in (f"Bearer {token}", f"bearer {token}", f"BEARER   {token}"):
            assert (await http.get("/api/sessions", headers={"authorization": header})).status_code == 200


async def test_the_link_is_traded_for_a_cookie(server: Running) -> None:
    """L1: The page's link sets a cookie of this port that scripts and other sites cannot use, and hides the token."""
    async with bare(server) as http:
        answer = await http.get("/", params={"token": server.token})
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/#ticket=")
        cookie = answer.headers["set-cookie"]
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/", f"max-age={30 * 24 * 3600}"} <= parts
        assert cookie.startswith(f"bough_{port(server)}=")
        assert server.token not in cookie
        page = await http.get("/")
        assert page.status_code == 200
        assert page.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        refused(await http.get("/api/sessions"), 401, "unauthenticated")


async def test_a_wrong_link_gives_no_cookie(server: Running) -> None:
    """L1: A link with a wrong token, or none, sets no cookie and shows nothing of the token."""
    async with bare(server) as http:
        for token in (None, "", "x", server.token[:-1], server.token + "x", "🌱", "\ud7ff"):
            answer = await http.get("/", params={} if token is None else {"token": token})
            assert answer.status_code == 401
            assert "set-cookie" not in answer.headers
            assert server.token not in answer.text


async def test_cookies_of_other_servers_do_no_harm(server: Running) -> None:
    """L1: All servers of a host share their cookies; foreign ones neither grant nor block access."""
    name, value = await trade(server)
    own_cookie = f"{name}={value}"
    others = ["", "a=b; ", 'theme={"dark": true}; ', "odd[]=1; ", "=; ;; ", "bough_1=x; ", f"{name}=stale; "]
    async with bare(server) as http:
        for other in others:
            assert (await http.get("/", headers={"cookie": other + own_cookie})).status_code == 200, other
        for wrong in (f"bough_1={value}", f"{name}={value[:-1]}", f"{name}=", f"x{own_cookie}", f"{name}x={value}"):
            assert (await http.get("/", headers={"cookie": wrong})).status_code == 401, wrong


async def test_two_servers_of_a_host_keep_their_cookies_apart(tmp_path: Path) -> None:
    """L1: One server's cookie is not accepted by another, and does not overwrite its cookie."""
    async with serving(tmp_path / "a") as first, serving(tmp_path / "b") as second:
        name, value = await trade(first)
        other, _ = await trade(second)
        assert name != other
        async with bare(second) as http:
            assert (await http.get("/", headers={"cookie": f"{other}={value}"})).status_code == 401


@pytest.mark.parametrize("path", ["/api/sessions", "/api/health", "/"])
async def test_foreign_hosts_are_refused(server: Running, path: str) -> None:
    """L1: Refuses every route, including health, under a foreign name (DNS rebinding)."""
    foreign = ("evil.example", f"evil.example:{port(server)}", "127.0.0.1.evil.example", "", "[", "localhost@evil")
    for host in foreign:
        refused(await server.client.http.get(path, headers={"host": host}), 403, "foreign_host")
    for host in ("localhost", f"localhost:{port(server)}", "LOCALHOST", "[::1]:80"):
        assert (await server.client.http.get(path, headers={"host": host})).status_code == 200


async def test_further_host_names_can_be_allowed(tmp_path: Path) -> None:
    """L1, L2: `allowed_hosts` lists further names of the server."""
    async with serving(tmp_path, allowed_hosts="box.example, other.example") as server:
        for host in ("box.example", "other.example:80"):
            assert (await server.client.http.get("/api/sessions", headers={"host": host})).status_code == 200
        refused(await server.client.http.get("/api/sessions", headers={"host": "x.box.example"}), 403, "foreign_host")


async def test_foreign_origins_are_refused(server: Running) -> None:
    """L1: A page of another origin cannot use the server, even with the token; the server's own page can."""
    address = urlsplit(server.url).netloc
    foreign = [
        "null",
        "",
        "http://evil.example",
        f"http://{address}.evil.example",
        f"http://evil.example/{address}",
        f"http://{address}@evil.example",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        "http://[",
        "file://",
        address,
        f"https://{address}",
        f"HTTP://{address}/",
        f"http://user@{address}",
    ]
    body = {"name": "made by a stranger"}
    for origin in foreign:
        refused(await server.client.http.get("/api/sessions", headers={"origin": origin}), 403, "foreign_origin")
        refused(
            await server.client.http.post("/api/boards", json=body, headers={"origin": origin}), 403, "foreign_origin"
        )
        refused(await server.client.http.get("/api/health", headers={"origin": origin}), 403, "foreign_origin")
    assert (await server.client.get("/api/boards"))["total"] == 1
    own = await server.client.http.post("/api/boards", json=body, headers={"origin": server.url})
    assert own.status_code == 201


async def closed(server: Running, headers: dict[str, str], address: str | None = None) -> tuple[int, str]:
    """Returns how a WebSocket that must be refused is closed."""
    where = address or f"ws://127.0.0.1:{port(server)}/api/events"
    async with connect(where, additional_headers=headers, host="127.0.0.1", port=port(server)) as socket:
        with pytest.raises(ConnectionClosed) as caught:
            await socket.recv()
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code, caught.value.rcvd.reason


async def test_websockets_are_refused_with_a_code(server: Running) -> None:
    """L1: Closes a WebSocket without the token with 4401, and a foreign one with 4403, with a reason."""
    right = {"Authorization": f"Bearer {server.token}"}
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {server.token[:-1]}"}):
        code, reason = await closed(server, headers)
        assert (code, "token" in reason) == (4401, True)
    assert (await closed(server, {}, f"ws://127.0.0.1:{port(server)}/"))[0] == 4401
    assert (await closed(server, {}, f"ws://127.0.0.1:{port(server)}/acp"))[0] == 4401
    for origin in ("http://evil.example", "null", "http://["):
        assert (await closed(server, right | {"Origin": origin}))[0] == 4403
    assert (await closed(server, right, f"ws://evil.example:{port(server)}/api/events"))[0] == 4403


async def test_websockets_open_for_the_token_and_for_a_page_key(server: Running) -> None:
    """L1: Accepts the token, and a page key, as a header or a protocol, together with the page's own origin."""
    address = f"ws://127.0.0.1:{port(server)}/api/events"
    async with signed_in(server.url, server.token) as browser:
        for headers in ({"Authorization": f"Bearer {server.token}"}, browser.headers):
            async with connect(address, additional_headers=headers) as socket:
                assert b"stream.ready" in await socket.recv(decode=False)
        offered = [Subprotocol(name) for name in browser.socket_protocols]
        async with connect(address, subprotocols=offered, origin=Origin(server.url)) as socket:
            assert b"stream.ready" in await socket.recv(decode=False)


def test_an_empty_token_file_is_replaced(tmp_path: Path) -> None:
    """L1: A token file that a full disk or a kill left empty gets a new token, so an empty one is never accepted."""
    (tmp_path / "token").touch()
    token = load_token(tmp_path)
    assert len(token) >= 32
    assert load_token(tmp_path) == token
