"""Attacks from other machines on a server that they can reach: without encryption, and with forged proxy headers."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from bough.api.server import tls_and_proxies
from bough.api.server.tls_and_proxies import EncryptedOnly
from bough.errors import Busy, Invalid
from bough.settings import Settings
from tests.api.error_responses import refused
from tests.support.browser import signed_in
from tests.support.server import serving

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Creates a self-signed certificate for this machine."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    key.chmod(0o600)
    return cert, key


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "box.example", "10.0.0.1"])
def test_beyond_loopback_needs_encryption(host: str) -> None:
    """L1: An address that other machines can reach needs a certificate or a named proxy."""
    with pytest.raises(Invalid) as error:
        tls_and_proxies.check(Settings(host=host))
    assert error.value.code == "needs_tls"
    assert host in error.value.message
    tls_and_proxies.check(Settings(host=host, tls_cert="c", tls_key="k"))
    tls_and_proxies.check(Settings(host=host, behind_proxy="10.0.0.5, 10.1.0.0/16"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.0.1"])
def test_this_machine_needs_none(host: str) -> None:
    """L1: On loopback nothing is demanded."""
    tls_and_proxies.check(Settings(host=host))


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    """L1: A certificate without a key, a proxy without an address, and unusable or open key files are refused."""
    for settings, code in (
        (Settings(tls_cert="c"), "bad_tls"),
        (Settings(tls_key="k"), "bad_tls"),
        (Settings(behind_proxy="nginx"), "bad_setting"),
        (Settings(behind_proxy="10.0.0.5/8"), "bad_setting"),
    ):
        with pytest.raises(Invalid) as error:
            tls_and_proxies.check(settings)
        assert error.value.code == code
    key = tmp_path / "key.pem"
    key.write_text("x")
    for mode, text in ((0o644, "Other users"), (0o600, "Cannot use")):
        key.chmod(mode)
        with pytest.raises(Invalid, match=text):
            tls_and_proxies.certificate(Settings(tls_cert=str(key), tls_key=str(key)))


async def passed(settings: Settings, peer: str, scheme: str = "http", **headers: str) -> str | int:
    """Sends a request that comes from an address; returns the scheme that the application sees, or the status."""

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        seen.append(scope["scheme"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    seen: list[str] = []
    statuses: list[int] = []
    scope: Any = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "scheme": scheme,
        "client": (peer, 1),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    await EncryptedOnly(app, settings)(scope, receive, send)
    return seen[0] if seen else statuses[0]


async def test_only_named_proxies_speak_for_others() -> None:
    """L1: A plain request of another machine is refused, whatever its headers claim, unless a named proxy says that it
    encrypts the connection."""
    settings = Settings(host="0.0.0.0", behind_proxy="10.0.0.5,10.1.0.0/16,fd00::/8")
    assert await passed(settings, "10.0.0.9") == 403
    assert await passed(settings, "10.0.0.9", x_forwarded_proto="https") == 403
    assert await passed(settings, "10.0.0.9", x_forwarded_for="127.0.0.1", x_forwarded_proto="https") == 403
    assert await passed(settings, "10.0.0.5") == 403
    assert await passed(settings, "10.0.0.5", x_forwarded_proto="http") == 403
    assert await passed(settings, "not-an-address") == 403
    for peer in ("10.0.0.5", "10.1.200.3", "::ffff:10.0.0.5", "fd00::1"):
        for text in ("https", "HTTPS", " https "):
            assert await passed(settings, peer, x_forwarded_proto=text) == "https"
    for peer in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert await passed(settings, peer) == "http"
        assert await passed(settings, peer, x_forwarded_proto="https") == "https"
    assert await passed(settings, "10.0.0.5", x_forwarded_proto="https, http") == 403
    assert await passed(settings, "10.0.0.9", "https") == "https"


@needs_openssl
async def test_a_server_with_its_own_certificate(tmp_path: Path) -> None:
    """L1: Pages and sockets use TLS with secure cookies, while commands and agents on this machine need no
    certificate; plain requests to the shared port get no answer."""
    cert, key = make_certificate(tmp_path)
    context = ssl.create_default_context(cafile=str(cert))
    async with serving(tmp_path, host="127.0.0.1", tls_cert=str(cert), tls_key=str(key)) as server:
        assert server.url.startswith("https://127.0.0.1:")
        local = json.loads((server.data / "server.json").read_text())["url"]
        assert local.startswith("http://127.0.0.1:")
        headers = {"authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, verify=context) as http:
            assert (await http.get("/api/me")).json()["name"] == "owner"
            link = await http.get("/", params={"token": server.token}, headers={"authorization": ""})
            assert "secure" in link.headers["set-cookie"].lower()
            refused(await http.get("/api/me", headers={"authorization": "Bearer x"}), 401)
        async with httpx.AsyncClient(base_url=local, headers=headers) as http:
            assert (await http.get("/api/me")).status_code == 200
        async with httpx.AsyncClient(base_url=server.url.replace("https", "http"), headers=headers) as http:
            with pytest.raises(httpx.TransportError):
                await http.get("/api/me")
        address = f"{server.url.replace('https', 'wss')}/api/events"
        async with connect(address, additional_headers=headers, ssl=context) as socket:
            assert b"stream.ready" in await socket.recv(decode=False)
        async with signed_in(server.url, server.token) as browser:
            assert (await browser.http.get("/api/me", headers=browser.headers)).status_code == 200
        port = local
    async with serving(tmp_path, host="127.0.0.1", tls_cert=str(cert), tls_key=str(key)) as server:
        assert json.loads((server.data / "server.json").read_text())["url"] == port


async def test_a_server_behind_a_proxy(tmp_path: Path) -> None:
    """L1: A proxy on this machine that says https makes it the page's origin."""
    async with serving(tmp_path, host="0.0.0.0", behind_proxy="10.0.0.5", allowed_hosts="box.example") as server:
        headers = {
            "authorization": f"Bearer {server.token}",
            "host": "box.example",
            "origin": "https://box.example",
            "x-forwarded-proto": "https",
        }
        async with httpx.AsyncClient(base_url=server.url) as http:
            assert (await http.get("/api/me", headers=headers)).status_code == 200
            del headers["x-forwarded-proto"]
            refused(await http.get("/api/me", headers=headers), 403, "foreign_origin")


async def test_a_second_server_leaves_the_local_port_alone(tmp_path: Path) -> None:
    """L1: Agents of a running server know its local port, which a second server on the same folder must not replace."""
    flags: dict[str, Any] = {"host": "0.0.0.0", "behind_proxy": "10.0.0.5"}
    async with serving(tmp_path, **flags) as server:
        before = (server.data / "local_port").read_text()
        with pytest.raises(Busy) as error:
            async with serving(tmp_path, **flags):
                pass
        assert error.value.code == "data_folder_in_use"
        assert (server.data / "local_port").read_text() == before
    (tmp_path / "data" / "local_port").write_text("70000\n")
    async with serving(tmp_path, **flags) as server:
        assert 0 < int((server.data / "local_port").read_text()) < 65536
