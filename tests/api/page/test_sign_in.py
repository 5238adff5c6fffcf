"""Tests the page in a browser: its security policy, the exchange of its link for a cookie and a key, and their
rights."""

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
from tests.support.browser import SignedIn, signed_in
from tests.support.server import Running

FOREIGN = ("http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1")


HTML = {"accept": "text/html"}


@pytest.fixture
async def browser(server: Running) -> AsyncGenerator[SignedIn]:
    """Yields a browser that has followed the link that the server printed."""
    async with signed_in(server.url, server.token) as browser:
        assert (await browser.http.get("/")).status_code == 200
        yield browser


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
    directives = (part.split() for part in answer.headers["content-security-policy"].split(";"))
    return {name: values for name, *values in directives}


def check_policy(answer: httpx.Response) -> None:
    """Checks that the policy lets the page run exactly what it contains, and nothing else."""
    directives = policy(answer)
    assert directives["default-src"] == ["'none'"]
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert directives[name] == ["'none'"], name
    assert directives["connect-src"] == ["'self'"]
    assert not re.search(r"unsafe|\*|https?:", answer.headers["content-security-policy"])
    parts = Parts(answer.text)
    for kind, texts in parts.texts.items():
        hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert directives[f"{kind}-src"] == (hashes or ["'none'"])
    assert parts.inline == [], "attributes that the policy would not let do anything"
    assert all(address.startswith(("#", "/", "data:")) for address in parts.addresses), parts.addresses
    for name, value in (("referrer-policy", "no-referrer"), ("x-content-type-options", "nosniff")):
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_the_policy_of_a_built_in_page(browser: SignedIn, server: Running) -> None:
    """L1, O4: A page that the program contains loads nothing else, and its policy allows only its own contents."""
    page = await browser.http.get("/docs")
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


async def test_the_link_is_exchanged_for_a_cookie_and_a_ticket(server: Running) -> None:
    """L1: The cookie cannot be read by scripts or sent by other sites; it and the ticket are not the token."""
    async with httpx.AsyncClient(base_url=server.url) as stranger:
        traded = await stranger.get("/session/x?a=b", params={"a": "b", "token": server.token}, headers=HTML)
        assert traded.status_code == 303
        assert traded.headers["location"].startswith("/session/x?a=b#ticket=")
        flags = {part.strip().lower() for part in traded.headers["set-cookie"].split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)
        (value,) = traded.cookies.values()
        assert server.token not in f"{traded.headers}"
        stranger.cookies.clear()
        refused(await stranger.get("/api/sessions", headers={"authorization": f"Bearer {value}"}), 401)


async def test_the_key_gives_the_page_access(browser: SignedIn, server: Running) -> None:
    """L1: With the key and the page's own origin, every kind of request and the event stream work."""
    http, own = browser.http, browser.headers
    made = await http.post("/api/boards", json={"name": "From the page"}, headers=own)
    assert made.status_code == 201
    path = f"/api/boards/{made.json()['id']}"
    assert (await http.patch(path, json={"name": "Again"}, headers=own)).status_code == 200
    bearer = {"authorization": own["authorization"]}
    assert (await http.get(path, headers=bearer)).json()["name"] == "Again", "browsers send no Origin with a GET"
    assert (await http.delete(path, headers=own)).status_code == 200
    async with connect(events(server), additional_headers=own) as socket:
        assert b"stream.ready" in await socket.recv(decode=False)


async def test_the_key_is_refused_from_other_origins(browser: SignedIn, server: Running) -> None:
    """L1: A page of another origin can do nothing with the cookie, or even with the key (CSRF)."""
    http, own = browser.http, browser.headers
    board = (await http.post("/api/boards", json={"name": "Mine"}, headers=own)).json()
    for origin in FOREIGN:
        headers = own | {"origin": origin}
        for method, path, body in (
            ("POST", "/api/boards", {"name": "Theirs"}),
            ("PATCH", f"/api/boards/{board['id']}", {"name": "Theirs"}),
            ("DELETE", f"/api/boards/{board['id']}", None),
            ("GET", "/api/boards", None),
            ("GET", "/", None),
            ("OPTIONS", "/api/boards", None),
        ):
            answer = await http.request(method, path, json=body, headers=headers)
            refused(answer, 403, "foreign_origin")
            assert not [name for name in answer.headers if name.startswith("access-control")]
        async with connect(events(server), additional_headers={"Cookie": browser.cookie, **headers}) as socket:
            with pytest.raises(ConnectionClosed) as caught:
                await socket.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 4403
    names = [item["name"] for item in (await http.get("/api/boards", headers=own)).json()["boards"]]
    assert sorted(names) == sorted({*names, "Mine"} - {"Theirs"})


async def test_the_key_alone_is_not_enough(browser: SignedIn, server: Running) -> None:
    """L1: With the key, a change also needs headers that prove it comes from our page, and a JSON body."""
    http, bearer = browser.http, {"authorization": browser.headers["authorization"]}
    plain = {"content-type": "text/plain"}
    for headers in ({}, {"sec-fetch-site": "same-site"}, {"sec-fetch-site": "none"}, {"sec-fetch-site": "cross-site"}):
        for method, path, body in (
            ("POST", "/api/boards", {"name": "a"}),
            ("PATCH", "/api/boards/00000000", {"name": "a"}),
            ("DELETE", "/api/boards/00000000", None),
        ):
            answer = await http.request(method, path, json=body, headers=bearer | headers)
            refused(answer, 403, "foreign_origin")
    async with connect(events(server), additional_headers=bearer) as socket:
        with pytest.raises(ConnectionClosed) as caught:
            await socket.recv()
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 4403
    for own in ({"origin": server.url}, {"sec-fetch-site": "same-origin"}):
        for kind in (plain, {"content-type": "application/x-www-form-urlencoded"}, {}):
            answer = await http.post("/api/boards", content=b'{"name": "a"}', headers=bearer | own | kind)
            error = refused(answer, 415, "unsupported_media_type")
            assert "Content-Type: application/json" in error["message"]
        name = f"with {next(iter(own))}"
        made = await http.post("/api/boards", json={"name": name}, headers=bearer | own)
        assert made.status_code == 201
        assert (await http.delete(f"/api/boards/{made.json()['id']}", headers=bearer | own)).status_code == 200
    # A script with the token is not a browser: its body is read as JSON whatever the content type.
    answer = await server.client.http.post("/api/boards", content=b'{"name": "by curl"}', headers=plain)
    assert answer.status_code == 201


def events(server: Running) -> str:
    return f"{server.url.replace('http', 'ws', 1)}/api/events"
