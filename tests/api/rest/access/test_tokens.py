"""Tests `/api/tokens`: listing, revoking and rotating."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.api.rest.access.tokens import browser_name
from bough.core.store.sql import PAGE_KEYS
from tests.api.error_responses import NOBODY, refused
from tests.support.browser import signed_in
from tests.support.faults.database_faults import failing
from tests.support.server import Running, serving

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


async def test_tokens_are_listed(server: Running) -> None:
    """L1: The list has the server's token and each browser, without their secrets, and says which one asks."""
    async with signed_in(server.url, server.token, FIREFOX) as browser:
        token, key = (await server.client.get("/api/tokens"))["tokens"]
        assert (token["id"], token["kind"], token["current"], token["expiresAt"]) == ("server", "server", True, None)
        assert token["createdAt"] <= token["lastUsedAt"]
        assert (key["id"], key["name"], key["origin"]) == (browser.key_id, "Firefox on Linux", server.url)
        assert key["createdAt"] <= key["lastUsedAt"] < key["expiresAt"]
        assert not key["current"]
        answer = await browser.http.get("/api/tokens", headers=browser.headers)
        assert [item["current"] for item in answer.json()["tokens"]] == [False, True]
        assert browser.key not in answer.text
        assert server.token not in answer.text


async def test_a_new_sign_in_replaces_the_key_of_the_same_browser(server: Running) -> None:
    """L1: Opening the link again does not leave the old key behind."""
    async with signed_in(server.url, server.token) as browser:
        ticket = (await browser.http.get("/", params={"token": server.token})).headers["location"].partition("=")[2]
        answer = await browser.http.post("/sign-in", json={"ticket": ticket}, headers=browser.headers)
        assert answer.status_code == 201
        refused(await browser.http.get("/api/sessions", headers=browser.headers), 401, "unauthenticated")
        _, key = (await server.client.get("/api/tokens"))["tokens"]
        assert key["id"] == answer.json()["id"]


async def test_revoking(server: Running) -> None:
    """L1: A browser is revoked by its id or a part of it; the server's token can only be replaced."""
    async with signed_in(server.url, server.token) as browser:
        http = server.client.http
        refused(await http.delete("/api/tokens/server"), 409, "server_token")
        refused(await http.delete(f"/api/tokens/{NOBODY}"), 404, "token_not_found")
        refused(await http.delete("/api/tokens/abc"), 400)
        revoked = await server.client.call("DELETE", f"/api/tokens/{browser.key_id[-10:]}")
        assert revoked["id"] == browser.key_id
        refused(await http.delete(f"/api/tokens/{browser.key_id}"), 404, "token_not_found")
        # A browser may sign itself out.
    async with signed_in(server.url, server.token) as browser:
        answer = await browser.http.delete(f"/api/tokens/{browser.key_id}", headers=browser.headers)
        assert answer.json()["current"] is True


async def test_revoking_with_a_lost_reply(server: Running) -> None:
    """L1, Q4: A key that is deleted from the database opens nothing, although the reply was lost."""
    async with signed_in(server.url, server.token) as browser:
        with failing(server.services.store.db, "transaction", PAGE_KEYS.remove, fault="lost"):
            await server.client.call("DELETE", f"/api/tokens/{browser.key_id}")
        refused(await browser.http.get("/api/sessions", headers=browser.headers), 401, "unauthenticated")


async def test_rotating_can_sign_all_browsers_out(server: Running) -> None:
    """L1: With `revokePages`, the new token is the only thing that opens the server."""
    async with signed_in(server.url, server.token) as browser:
        rotated = await server.client.post("/api/tokens/rotate", {"revokePages": True})
        assert [key["id"] for key in rotated["revoked"]] == [browser.key_id]
        refused(await browser.http.get("/api/sessions", headers=browser.headers), 401, "unauthenticated")
        assert (await browser.http.get("/")).status_code == 401


@pytest.mark.postgres
async def test_keys_are_stored_in_postgres(tmp_path: Path, postgres_url: str) -> None:
    """R6: Keys, their last use and their revocation are stored in PostgreSQL as in SQLite."""
    async with serving(tmp_path, database=postgres_url) as server, signed_in(server.url, server.token) as browser:
        await browser.http.get("/api/sessions", headers=browser.headers)
        await server.services.page_keys.record_uses()
        _, key = (await server.client.get("/api/tokens"))["tokens"]
        headers = browser.headers
    async with serving(tmp_path, database=postgres_url) as server:
        assert (await server.client.get("/api/tokens"))["tokens"][1] == key
        assert (await server.client.http.get("/api/sessions", headers=headers)).status_code == 200
        await server.client.call("DELETE", f"/api/tokens/{key['id']}")
    async with serving(tmp_path, database=postgres_url) as server:
        assert len((await server.client.get("/api/tokens"))["tokens"]) == 1


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", "Safari on iOS"),
        ("curl/8", "Browser"),
        ("", "Browser"),
        ("<script>", "Browser"),
    ],
)
def test_browsers_are_named(user_agent: str, name: str) -> None:
    """L1: The name is chosen from known ones, so a browser cannot write anything else into the list."""
    assert browser_name(user_agent) == name
