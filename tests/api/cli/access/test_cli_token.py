"""Tests `bough token`: list, revoke and rotate."""

from __future__ import annotations

import json

from tests.api.cli.cli_program import Cli
from tests.support.browser import signed_in
from tests.support.server import Running


async def test_tokens_are_listed_and_revoked(server: Running, cli: Cli) -> None:
    """L1, L4: The list shows each browser with its last use; a part of its id revokes it."""
    async with signed_in(server.url, server.token, "X11; Linux Firefox/1") as browser:
        listed = await cli("token", "list")
        assert listed.code == 0
        assert "Firefox on Linux" in listed.out
        assert browser.key_id[-8:] in listed.out
        assert "server" in listed.out
        tokens = json.loads((await cli("token", "list", "--json")).out)["tokens"]
        assert [token["kind"] for token in tokens] == ["server", "page"]
        revoked = await cli("token", "revoke", browser.key_id[-8:])
        assert (revoked.code, revoked.out.startswith("Signed out: Firefox on Linux")) == (0, True)
        assert (await browser.http.get("/api/sessions", headers=browser.headers)).status_code == 401
        gone = await cli("token", "revoke", browser.key_id[-8:])
        assert (gone.code, "bough token list" in gone.err) == (1, True)
        refused = await cli("token", "revoke", "server")
        assert (refused.code, "bough token rotate" in refused.err) == (1, True)


async def test_commands_go_on_after_a_rotation(server: Running, cli: Cli) -> None:
    """L1, L4: Commands read the new token from the data folder; it is printed only where it cannot be read."""
    async with signed_in(server.url, server.token) as browser:
        rotated = await cli("token", "rotate")
        token = (server.data / "token").read_text().strip()
        assert rotated.code == 0
        assert token not in rotated.out
        assert token != server.token
        assert (await cli("session", "list")).code == 0
        assert (await cli("open", "--print")).out == f"{server.url}/?token={token}\n"
        assert (await browser.http.get("/api/sessions", headers=browser.headers)).status_code == 200
        remote = await cli("token", "rotate", "--revoke-pages", "--url", server.url, "--token", token)
        assert remote.out.splitlines() == [(server.data / "token").read_text().strip(), "Signed out: 1 browser"]
        assert (await browser.http.get("/api/sessions", headers=browser.headers)).status_code == 401
