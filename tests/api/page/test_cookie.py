"""Tests the page in a browser: its security policy, the exchange of its link for a cookie, and the cookie's rights."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncGenerator
from html.parser import HTMLParser

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.api.error_responses import refused
from tests.support.server import Running

FOREIGN = ("http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1")


@pytest.fixture
async def browser(server: Running) -> AsyncGenerator[httpx.AsyncClient]:
    """Yields a browser that has followed the link that the server printed."""
    async with httpx.AsyncClient(base_url=server.url, follow_redirects=True, timeout=30) as http:
        page = await http.get("/", params={"token": server.token})
        assert (page.status_code, str(page.url)) == (200, f"{server.url}/")
        yield http


class Parts(HTMLParser):
    """Collects everything in a page that makes a browser run or fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside: str | None = None
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag if tag in self.texts else None
        for name, value in attrs:
            if name in ("src", "href", "action", "srcset", "data"):
                self.addresses.append(value or "")
            if name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside is not None:
            self.texts[self.inside].append(data)


def policy(answer: httpx.Response) -> dict[str, list[str]]:
    found = (part.split() for part in answer.headers["content-security-policy"].split(";"))
    return {name: values for name, *values in found}


def check_policy(answer: httpx.Response) -> None:
    """Checks that the policy lets the page run exactly what it contains, and nothing else."""
    said = policy(answer)
    assert said["default-src"] == ["'none'"]
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert said[name] == ["'none'"], name
    assert said["connect-src"] == ["'self'"]
    assert not re.search(r"unsafe|\*|https?:", answer.headers["content-security-policy"])
    parts = Parts(answer.text)
    for kind, texts in parts.texts.items():
        hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert said[f"{kind}-src"] == (hashes or ["'none'"])
    assert parts.inline == [], "attributes that the policy would not let do anything"
    assert all(address.startswith(("#", "/", "data:")) for address in parts.addresses), parts.addresses
    for name, value in (("referrer-policy", "no-referrer"), ("x-content-type-options", "nosniff")):
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_the_policy_of_a_built_in_page(browser: httpx.AsyncClient, server: Running) -> None:
    """L1, O4: A page that the program contains loads nothing else, and its policy allows only its own contents."""
    page = await browser.get("/docs")
    check_policy(page)
    assert server.token not in page.text


async def test_no_page_without_the_token(server: Running) -> None:
    """L1: A visitor without the token sees how to open the link, under the same policy, and gets neither page nor
    cookie."""
    async with httpx.AsyncClient(base_url=server.url) as stranger:
        for params in ({}, {"token": "wrong"}, {"token": server.token[:-1]}, {"token": server.token.upper()}):
            answer = await stranger.get("/", params=params)
            assert answer.status_code == 401
            check_policy(answer)
            assert "bough serve" in answer.text
            assert "bough open" in answer.text
            assert Parts(answer.text).texts["script"] == []
            assert not stranger.cookies
            refused(await stranger.get("/api/sessions"), 401, "unauthenticated")


async def test_the_cookie_is_not_the_token(browser: httpx.AsyncClient, server: Running) -> None:
    """L1: The link is exchanged for a cookie, not the token itself, that scripts cannot read and other sites cannot
    send."""
    async with httpx.AsyncClient(base_url=server.url) as stranger:
        traded = await stranger.get("/", params={"token": server.token})
        assert (traded.status_code, traded.headers["location"]) == (303, "/")
        flags = {part.strip().lower() for part in traded.headers["set-cookie"].split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)
        (value,) = traded.cookies.values()
        assert server.token not in traded.headers["set-cookie"]
        stranger.cookies.clear()
        refused(await stranger.get("/api/sessions", headers={"authorization": f"Bearer {value}"}), 401)
    assert list(browser.cookies.values()) == [value]


async def test_the_cookie_gives_the_page_access(browser: httpx.AsyncClient, server: Running) -> None:
    """L1: With the cookie and the page's own origin, every kind of request and the event stream work."""
    own = {"origin": server.url}
    made = await browser.post("/api/boards", json={"name": "From the page"}, headers=own)
    assert made.status_code == 201
    path = f"/api/boards/{made.json()['id']}"
    assert (await browser.patch(path, json={"name": "Again"}, headers=own)).status_code == 200
    assert (await browser.get(path)).json()["name"] == "Again"
    assert (await browser.delete(path, headers=own)).status_code == 200
    headers = {"Cookie": cookie(browser), "Origin": server.url}
    async with connect(events(server), additional_headers=headers) as socket:
        assert b"stream.ready" in await socket.recv(decode=False)


async def test_the_cookie_is_refused_from_other_origins(browser: httpx.AsyncClient, server: Running) -> None:
    """L1: A page of another origin can do nothing with the cookie, even if a browser sends it (CSRF)."""
    own = {"origin": server.url}
    board = (await browser.post("/api/boards", json={"name": "Mine"}, headers=own)).json()
    for origin in FOREIGN:
        headers = {"origin": origin}
        for method, path, body in (
            ("POST", "/api/boards", {"name": "Theirs"}),
            ("PATCH", f"/api/boards/{board['id']}", {"name": "Theirs"}),
            ("DELETE", f"/api/boards/{board['id']}", None),
            ("GET", "/api/boards", None),
            ("GET", "/", None),
            ("OPTIONS", "/api/boards", None),
        ):
            answer = await browser.request(method, path, json=body, headers=headers)
            refused(answer, 403, "foreign_origin")
            assert not [name for name in answer.headers if name.startswith("access-control")]
        sent = {"Cookie": cookie(browser), "Origin": origin}
        async with connect(events(server), additional_headers=sent) as socket:
            with pytest.raises(ConnectionClosed) as caught:
                await socket.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 4403
    names = [item["name"] for item in (await browser.get("/api/boards")).json()["boards"]]
    assert sorted(names) == sorted({*names, "Mine"} - {"Theirs"})


async def test_the_cookie_alone_is_not_enough(browser: httpx.AsyncClient, server: Running) -> None:
    """L1: With the cookie, a change also needs headers that prove it comes from our page, and a JSON body."""
    plain = {"content-type": "text/plain"}
    for headers in ({}, {"sec-fetch-site": "same-site"}, {"sec-fetch-site": "none"}, {"sec-fetch-site": "cross-site"}):
        for method, path, body in (
            ("POST", "/api/boards", {"name": "a"}),
            ("PATCH", "/api/boards/00000000", {"name": "a"}),
            ("DELETE", "/api/boards/00000000", None),
        ):
            answer = await browser.request(method, path, json=body, headers=headers)
            refused(answer, 403, "foreign_origin")
    async with connect(events(server), additional_headers={"Cookie": cookie(browser)}) as socket:
        with pytest.raises(ConnectionClosed) as caught:
            await socket.recv()
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 4403
    for own in ({"origin": server.url}, {"sec-fetch-site": "same-origin"}):
        for kind in (plain, {"content-type": "application/x-www-form-urlencoded"}, {}):
            answer = await browser.post("/api/boards", content=b'{"name": "a"}', headers=own | kind)
            error = refused(answer, 415, "unsupported_media_type")
            assert "Content-Type: application/json" in error["message"]
        name = f"with {next(iter(own))}"
        made = await browser.post("/api/boards", json={"name": name}, headers=own)
        assert made.status_code == 201
        assert (await browser.delete(f"/api/boards/{made.json()['id']}", headers=own)).status_code == 200
    # A script with the token is not a browser: its body is read as JSON whatever the content type.
    answer = await server.client.http.post("/api/boards", content=b'{"name": "by curl"}', headers=plain)
    assert answer.status_code == 201


def cookie(browser: httpx.AsyncClient) -> str:
    return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


def events(server: Running) -> str:
    return f"{server.url.replace('http', 'ws', 1)}/api/events"
