"""Tests which addresses serve the page, how its files are sent, and the notice shown if the page was not built."""

from __future__ import annotations

import fcntl
import gzip
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from bough.api.page import assets, routes
from tests.api.error_responses import refused
from tests.support.server import Running, serving

INDEX = '<!doctype html><title>Bough</title><script type="module" src="/assets/main-3f9a12c4.js"></script>'
SCRIPT = "document.title = 'built';\n" * 50
ICON = '<svg xmlns="http://www.w3.org/2000/svg"/>'
# Not real Brotli, but enough to tell which file was sent.
BROTLI = b"as brotli"
PEOPLE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
ADDRESSES = (
    "/",
    "/home",
    "/board/a1b2c3d4",
    "/tree/a1b2c3d4",
    "/session/a1b2c3d4/diff/src/a.py",
    "/search",
    "/nowhere",
)
YEAR = "public, max-age=31536000, immutable"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Creates a page as `npm run build` would, and uses it instead of the real one."""
    folder = tmp_path / "built"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX, "utf-8")
    (folder / "icon.svg").write_text(ICON, "utf-8")
    (folder / "manifest.webmanifest").write_text("{}", "utf-8")
    (folder / "assets/font-0a1b2c3d.woff2").write_bytes(b"wOF2")
    script = folder / "assets/main-3f9a12c4.js"
    script.write_text(SCRIPT, "utf-8")
    script.with_name(f"{script.name}.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    script.with_name(f"{script.name}.br").write_bytes(BROTLI)
    (tmp_path / "secret.txt").write_text("not for anyone", "utf-8")
    monkeypatch.setattr(routes, "BUILT", folder)
    return folder


@pytest.fixture
async def server(built: Path, tmp_path: Path) -> AsyncGenerator[Running]:
    """Yields a server with that page."""
    async with serving(tmp_path) as running:
        yield running


@pytest.fixture
async def browser(server: Running) -> AsyncGenerator[httpx.AsyncClient]:
    """Yields a browser that has followed the link that the server printed."""
    async with httpx.AsyncClient(base_url=server.url, headers=PEOPLE, timeout=30) as http:
        assert (await http.get("/", params={"token": server.token})).status_code == 303
        yield http


async def test_every_address_serves_the_page(browser: httpx.AsyncClient) -> None:
    """O4: Every address that a person opens or reloads serves the page, uncached; the page does the routing."""
    for path in ADDRESSES:
        answer = await browser.get(path)
        assert (answer.status_code, answer.text) == (200, INDEX), path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["cache-control"] == "no-store"
        headed = await browser.head(path)
        assert (headed.status_code, headed.content) == (200, b"")
        assert headed.headers["content-length"] == str(len(INDEX))


async def test_the_pages_security_policy(server: Running, browser: httpx.AsyncClient) -> None:
    """L1, Y5: The page may run only its own scripts, connect only to its own server, and frame only previews."""
    answer = await browser.get("/home")
    directives = [part.strip().partition(" ") for part in answer.headers["content-security-policy"].split(";")]
    assert {name: value for name, _, value in directives} == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "style-src-attr": "'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self'",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "worker-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "frame-src": f"http://*.localhost:{server.services.previews.port}",
    }
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_other_addresses_do_not_serve_the_page(server: Running, browser: httpx.AsyncClient) -> None:
    """A4: API paths, missing files and requests from programs get an error, not the page."""
    for path in ("/api", "/api/nothing", "/api/sessions/x/nothing", "/assets", "/acp/x"):
        refused(await server.client.http.get(path, headers=PEOPLE), 404, "not_found")
        refused(await browser.get(path), 401, "unauthenticated")
    for path in ("/assets/gone.js", "/favicon.ico", "/index.html", "/nothing.txt"):
        refused(await browser.get(path), 404, "not_found")
    refused(await browser.get("/openapi.json"), 401, "unauthenticated")
    assert "Bough API" in (await browser.get("/docs")).text
    for path in ADDRESSES[1:]:
        refused(await server.client.http.get(path), 404, "not_found")
        refused(await server.client.http.post(path, headers=PEOPLE), 404, "not_found")
    refused(await server.client.http.post("/"), 405, "method_not_allowed")
    refused(await server.client.http.put("/assets/main-3f9a12c4.js"), 405, "method_not_allowed")
    for path in ("/", "/icon.svg", "/assets/main-3f9a12c4.js"):
        assert (await server.client.http.options(path)).headers["allow"] == "GET, HEAD, OPTIONS"


async def test_every_address_accepts_the_token(server: Running) -> None:
    """L1: A link to any address may carry the token; the redirect removes the token and keeps the rest."""
    for asked, path in (
        ("/session/a1b2c3d4", "/session/a1b2c3d4"),
        ("/board/x%20y/%E2%9C%93", "/board/x%20y/%E2%9C%93"),
        ("/search?q=a%26b&page=", "/search?q=a%26b&page="),
        ("/home?", "/home"),
    ):
        async with httpx.AsyncClient(base_url=server.url, headers=PEOPLE) as stranger:
            joined = f"{asked}{'&' if '?' in asked else '?'}token={server.token}"
            answer = await stranger.get(joined)
            location, _, ticket = answer.headers["location"].partition("#ticket=")
            assert (answer.status_code, location) == (303, path)
            assert len(ticket) >= 32
            assert (await stranger.get(path)).text == INDEX
            # `//` is not an address of the page.
            refused(await stranger.get(f"{server.url}//?token={server.token}"), 401, "unauthenticated")


async def test_redirects_stay_on_this_server(server: Running) -> None:
    """L1: A link with the token never redirects a browser to another server."""
    async with httpx.AsyncClient(headers=PEOPLE) as stranger:
        for path in (
            "//evil.example",
            "//evil.example/x",
            "/%2F/evil.example",
            "/%5Cevil.example",
            "/a/..//evil.example",
        ):
            answer = await stranger.get(f"{server.url}{path}?token={server.token}")
            target = httpx.URL(server.url).join(answer.headers.get("location", "/"))
            assert target.host == httpx.URL(server.url).host, path


async def test_visitors_without_the_cookie_get_help(server: Running) -> None:
    """L1: Without the cookie, every address shows a person how to get the link, and files are refused."""
    async with httpx.AsyncClient(base_url=server.url, headers=PEOPLE) as stranger:
        for path in ADDRESSES:
            answer = await stranger.get(path, params={"token": "wrong"})
            assert answer.status_code == 401
            assert "bough open" in answer.text and INDEX not in answer.text
            assert not stranger.cookies
        for path in ("/assets/main-3f9a12c4.js", "/icon.svg", "/api/nothing"):
            refused(await stranger.get(path), 401, "unauthenticated")
        refused(await stranger.get("/home", headers={"accept": "*/*"}), 401, "unauthenticated")
        refused(await stranger.post("/home"), 401, "unauthenticated")


async def test_links_from_other_sites_work(server: Running, browser: httpx.AsyncClient) -> None:
    """L1: A link from another site arrives without the cookie; the server then asks the browser to reload once."""
    path = "/session/a1b2c3d4?x=%22%3E%3Cscript%3E"
    async with httpx.AsyncClient(base_url=server.url, headers=PEOPLE) as stranger:
        answer = await stranger.get(path, headers={"sec-fetch-site": "cross-site"})
        assert answer.status_code == 200
        assert f'content="0; url={path}"' in answer.text and "<script" not in answer.text
        assert "script-src 'none'" in answer.headers["content-security-policy"]
        again = await stranger.get(path, headers={"sec-fetch-site": "same-origin"})
        assert again.status_code == 401
    assert (await browser.get(path, headers={"sec-fetch-site": "cross-site"})).text == INDEX


async def test_files_are_sent_compressed(browser: httpx.AsyncClient) -> None:
    """O4: A file is sent as Brotli, gzip or uncompressed, as the browser accepts, and is cached for a year."""
    path = "/assets/main-3f9a12c4.js"
    for accepted, encoding, length in (
        ("gzip, deflate, br, zstd", "br", len(BROTLI)),
        ("BR;q=0.1,gzip", "br", len(BROTLI)),
        ("gzip, br;q=0", "gzip", len(gzip.compress(SCRIPT.encode()))),
        ("deflate", None, len(SCRIPT)),
        ("br;q=0.0, gzip;q=0, identity", None, len(SCRIPT)),
        ("", None, len(SCRIPT)),
    ):
        answer = await browser.head(path, headers={"accept-encoding": accepted})
        assert answer.headers.get("content-encoding") == encoding, accepted
        assert answer.headers["content-length"] == str(length)
        assert answer.headers["vary"] == "accept-encoding"
        assert answer.headers["cache-control"] == YEAR
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert (await browser.get(path, headers={"accept-encoding": "gzip"})).text == SCRIPT
    font = await browser.get("/assets/font-0a1b2c3d.woff2", headers={"accept-encoding": "br"})
    assert (font.headers["content-type"], font.content) == ("font/woff2", b"wOF2")
    assert "content-encoding" not in font.headers


async def test_files_without_a_hash_are_revalidated(browser: httpx.AsyncClient) -> None:
    """O4: A file without a hash in its name is revalidated on each use, and not sent again if it is unchanged."""
    answer = await browser.get("/icon.svg")
    assert (answer.headers["content-type"], answer.text) == ("image/svg+xml", ICON)
    assert answer.headers["cache-control"] == "no-cache"
    known = {"if-none-match": answer.headers["etag"]}
    again = await browser.get("/icon.svg", headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert (await browser.get("/icon.svg", headers={"if-none-match": '"x"'})).status_code == 200
    manifest = await browser.get("/manifest.webmanifest")
    assert manifest.headers["content-type"] == "application/manifest+json"


async def test_no_path_leads_outside(server: Running) -> None:
    """L1: Only built files are served, however the path is written."""
    for path in (
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/assets//etc/passwd",
        "/assets/..\\..\\secret.txt",
        "/assets/main-3f9a12c4.js%00.css",
        "/assets/main-3f9a12c4.js.br",
        "/%2e%2e/secret.txt",
    ):
        request = httpx.Request("GET", server.url, headers={"authorization": f"Bearer {server.token}"})
        # Sent exactly as written; the client would otherwise normalize it.
        request.url = httpx.URL(server.url).copy_with(raw_path=path.encode())
        answer = await server.client.http.send(request)
        refused(answer, 404, "not_found")


async def test_a_rebuilt_page_is_served(built: Path, browser: httpx.AsyncClient) -> None:
    """O4: A running server serves the latest build, and the previous one while a build is running."""
    (built / "index.html").unlink()
    assert (await browser.get("/")).text == INDEX
    (built / "assets/main-00000000.js").write_text("new", "utf-8")
    (built / "index.html").write_text("new", "utf-8")
    os.utime(built / "index.html", (1, 1))
    assert (await browser.get("/home")).text == "new"
    assert (await browser.get("/assets/main-00000000.js")).text == "new"


async def test_a_server_without_a_built_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1, O4: If the page was not built, people see how to build it, everything else works, and the page appears once
    built."""
    folder = tmp_path / "nothing"
    monkeypatch.setattr(routes, "BUILT", folder)
    async with serving(tmp_path) as server:
        http = server.client.http
        answer = await http.get("/session/x", headers=PEOPLE)
        assert answer.status_code == 200
        assert "make web" in answer.text
        assert answer.headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'none'; style-src 'sha"
        )
        assert (await http.get("/api/sessions")).json()["total"] == 0
        refused(await http.get("/assets/main-3f9a12c4.js"), 404, "not_found")
        folder.mkdir()
        (folder / "index.html").write_text(INDEX, "utf-8")
        assert (await http.get("/")).text == INDEX


async def test_a_page_that_is_being_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1, O4: While the page is being built, its link shows that and reloads by itself; the link opens the page as soon
    as it is there. A build that failed shows why."""
    folder = tmp_path / "later"
    monkeypatch.setattr(routes, "BUILT", folder)
    note = assets.build_note(folder)
    async with (
        serving(tmp_path) as server,
        httpx.AsyncClient(base_url=server.url, headers=PEOPLE, timeout=30) as browser,
    ):
        link = f"/?token={server.token}"
        with note.open("w", encoding="utf-8") as builder:
            fcntl.flock(builder, fcntl.LOCK_EX)
            answer = await browser.get(link)
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
            assert "being built" in answer.text and 'http-equiv="refresh"' in answer.text
            assert "being built" not in (await browser.get("/")).text
            builder.write("npm could not fetch <b>")
        failed = (await browser.get(link)).text
        assert "npm could not fetch &lt;b&gt;" in failed and "make web" in failed and "refresh" not in failed
        folder.mkdir()
        (folder / "icon.svg").write_text(ICON, "utf-8")
        (folder / "index.html").write_text(INDEX, "utf-8")
        assert (await browser.get(link)).status_code == 303
        assert (await browser.get("/")).text == INDEX
        assert (await browser.get("/icon.svg")).text == ICON


def test_files_without_a_hash_are_known() -> None:
    """O4: The server knows the page's files without a hash before the page is built."""
    public = Path(__file__).parents[3] / "web/public"
    assert sorted(assets.PUBLIC) == sorted(f"/{path.name}" for path in public.iterdir())
