"""Tests that `bough open` gives the page's link to a browser and reveals it to nobody else on the machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import pytest

from tests.api.cli.cli_program import Cli, Result, bough
from tests.support.server import Running

# Follows redirects as a browser does, and records its arguments and where it ended up.
BROWSER = """\
import json, sys, urllib.request
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given):
        return None
try:
    urllib.request.build_opener(Stay, urllib.request.ProxyHandler({})).open(sys.argv[1], timeout=10)
except urllib.error.HTTPError as answer:
    seen = {"started": sys.argv[1], "status": answer.code, "to": answer.headers["location"]}
    open(FILE, "w").write(json.dumps(seen))
"""


async def opened(server: Running, folder: Path, program: str, *arguments: str) -> Result:
    script = folder / "browser.py"
    script.write_text(program, "utf-8")
    return await bough("open", *arguments, BOUGH_DATA=str(server.data), BROWSER=f"{sys.executable} {script} %s")


async def test_the_link_is_printed(server: Running, cli: Cli) -> None:
    """L4: `--print` prints a link that opens the page, `--json` the same for programs; with a session, the link leads
    to it."""
    link = f"{server.url}/?token={server.token}"
    printed = await cli("open", "--print")
    assert (printed.code, printed.out, printed.err) == (0, f"{link}\n", "")
    result = await cli("open", "--print", "--json")
    assert json.loads(result.out) == {"link": link, "opened": False}
    async with httpx.AsyncClient() as browser:
        assert (await browser.get(link)).status_code == 303
    repo = await server.client.repo(server.repo())
    session = (await server.client.session(repo["id"]))["id"]
    printed = await cli("open", session[-8:], "--print")
    assert printed.out == f"{server.url}/session/{session}?token={server.token}\n"


async def test_the_browser_gets_the_link(server: Running, tmp_path: Path) -> None:
    """L4, L1: The browser reaches the link, but the token is not on its command line, and the address that it is given
    works once."""
    seen = tmp_path / "seen.json"
    ended = await opened(server, tmp_path, BROWSER.replace("FILE", repr(str(seen))), "--json")
    link = f"{server.url}/?token={server.token}"
    assert (ended.code, json.loads(ended.out)) == (0, {"link": link, "opened": True})
    arguments = json.loads(seen.read_text("utf-8"))
    assert (arguments["status"], arguments["to"]) == (303, link)
    assert server.token not in arguments["started"]
    async with httpx.AsyncClient() as other:
        with pytest.raises(httpx.ConnectError):
            await other.get(arguments["started"])
    quiet = await opened(server, tmp_path, BROWSER.replace("FILE", repr(str(seen))))
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


async def test_the_address_for_the_browser_works_once(server: Running, tmp_path: Path) -> None:
    """L1: A second request, or one for another address, learns nothing."""
    seen = tmp_path / "seen.json"
    twice = BROWSER.replace("FILE", repr(str(seen)))
    guess = twice.replace("sys.argv[1], timeout", "sys.argv[1] + 'x', timeout")
    ended = await opened(server, tmp_path, guess + twice.replace(repr(str(seen)), repr(str(tmp_path / "right.json"))))
    assert ended.code == 0
    assert json.loads(seen.read_text("utf-8")) | {"started": ""} == {"started": "", "status": 404, "to": None}
    assert json.loads((tmp_path / "right.json").read_text("utf-8"))["status"] == 303
    ended = await opened(server, tmp_path, twice + twice)
    assert ended.code == 0
    assert json.loads(seen.read_text("utf-8"))["status"] == 404


async def test_without_a_browser_the_link_is_printed(server: Running, tmp_path: Path) -> None:
    """L4: If no browser starts, the link is printed with the reason, and the exit code is 1."""
    ended = await opened(server, tmp_path, "raise SystemExit(1)")
    assert (ended.code, ended.out) == (1, f"{server.url}/?token={server.token}\n")
    assert ended.err.startswith("No browser")


async def test_nothing_to_open(server: Running, cli: Cli, tmp_path: Path) -> None:
    """L4: Without a server, or with a wrong token or an unknown session, nothing is opened or printed."""
    for arguments in (
        ("--data", str(tmp_path / "nothing")),
        ("--url", server.url, "--token", "wrong"),
        ("00000000",),
    ):
        ended = await cli("open", "--print", *arguments)
        assert (ended.code, ended.out) == (1, "")
