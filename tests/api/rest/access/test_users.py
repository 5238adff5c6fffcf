"""Tests `/api/users`, `/api/me` and users' tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.store.sql import TOKENS, USERS
from bough.model.values import times
from tests.api.error_responses import refused
from tests.support.browser import follow_link, signed_in
from tests.support.faults.database_faults import failing
from tests.support.people import as_person, as_user, token_of
from tests.support.server import Running, serving


async def test_the_owner_needs_no_record(server: Running) -> None:
    """L1: Whoever has the server's token is the owner and may do everything."""
    assert await server.client.get("/api/me") == {"name": "owner", "role": "admin", "userId": None, "tokenId": None}
    (owner,) = (await server.client.get("/api/users"))["users"]
    assert (owner["name"], owner["role"], owner["tokens"]) == ("owner", "admin", 0)


async def test_users_are_added_changed_and_removed(server: Running) -> None:
    """L1: A user has a unique plain name and one role; the same request with one key adds one user."""
    client = server.client
    anna = await client.post("/api/users", {"name": "anna", "role": "operator", "idempotencyKey": "k"})
    assert await client.post("/api/users", {"name": "anna", "role": "operator", "idempotencyKey": "k"}) == anna
    refused(await client.http.post("/api/users", json={"name": "anna"}), 409, "user_exists")
    for name in ("", "Anna", "a b", "owner", "me", "-x", "a" * 65, "ä", "a/b"):
        refused(await client.http.post("/api/users", json={"name": name}), 400, "bad_user_name")
    refused(await client.http.post("/api/users", json={"name": "bob", "role": "root"}), 400, "bad_request")
    assert (await client.call("PATCH", "/api/users/anna", json={"role": "viewer"}))["role"] == "viewer"
    refused(await client.http.patch("/api/users/nobody", json={"role": "viewer"}), 404, "user_not_found")
    await client.call("DELETE", "/api/users/anna")
    refused(await client.http.delete("/api/users/anna"), 404, "user_not_found")
    # The key still has its answer, but the user is gone.
    await client.post("/api/users", {"name": "anna", "role": "operator", "idempotencyKey": "k"})
    assert [user["name"] for user in (await client.get("/api/users"))["users"]] == ["owner"]


async def test_tokens_of_users(server: Running) -> None:
    """L1: A token is shown once, expires after 90 days by default, and is listed with its user, role and last use."""
    await server.client.post("/api/users", {"name": "anna", "role": "operator"})
    created = await server.client.post("/api/tokens", {"user": "anna", "scope": "viewer", "name": "laptop"})
    assert created["token"].startswith("bough-user-")
    assert (created["user"], created["role"], created["kind"]) == ("anna", "viewer", "user")
    assert 89 < times.seconds_until(created["expiresAt"]) / 86400 < 91
    async with as_person(server, created["token"]) as anna:
        (own,) = (await anna.client.get("/api/tokens"))["tokens"]
        assert own["current"] and own["lastUsedAt"] is not None and "token" not in own
    forever = await server.client.post("/api/tokens", {"user": "anna", "expiresAt": None})
    assert forever["expiresAt"] is None
    for body, code in (
        ({"user": "bob"}, "unknown_user"),
        ({"user": "anna", "expiresAt": "2020-01-01"}, "bad_time"),
        ({"user": "anna", "expiresAt": "soon"}, "bad_time"),
        ({"user": "anna", "name": "x" * 300}, "bad_name"),
        ({"user": "anna", "scope": "root"}, "bad_request"),
    ):
        refused(await server.client.http.post("/api/tokens", json=body), 400, code)


async def test_rotating_a_token_of_a_user(server: Running) -> None:
    """L1: The new secret has the same rights; the old one and the browsers that it signed in end."""
    token = await token_of(server, "anna", "operator")
    async with as_person(server, token) as anna, signed_in(server.url, token) as browser:
        row, key = (await anna.client.get("/api/tokens"))["tokens"]
        assert (key["kind"], key["user"]) == ("page", "anna")
        refused(await anna.client.http.post(f"/api/tokens/{key['id']}/rotate"), 409, "page_key")
        ticket = await follow_link(browser.http, token)
        rotated = await anna.client.post(f"/api/tokens/{row['id']}/rotate")
        assert (rotated["id"], rotated["role"]) == (row["id"], "operator")
        refused(await anna.client.http.get("/api/me"), 401, "unauthenticated")
        refused(await browser.http.get("/api/me", headers=browser.headers), 401, "unauthenticated")
        answer = await browser.http.post("/sign-in", json={"ticket": ticket}, headers={"origin": server.url})
        refused(answer, 401, "unauthenticated")
        async with as_person(server, rotated["token"]) as again:
            assert (await again.client.get("/api/me"))["name"] == "anna"


async def test_the_owner_can_have_weaker_tokens(server: Running) -> None:
    """L1: A script of the owner can have a token that only reads."""
    token = (await server.client.post("/api/tokens", {"scope": "viewer"}))["token"]
    async with as_person(server, token) as script:
        assert (await script.client.get("/api/me"))["name"] == "owner"
        refused(await script.client.http.post("/api/boards", json={"name": "x"}), 403, "role_too_low")


async def test_records_name_the_user(server: Running) -> None:
    """L1: Sessions, prompts and approvals say which user they are from; the owner's look as before."""
    async with as_user(server, "anna", "operator") as anna:
        repo = await anna.client.repo(server.repo())
        session = await anna.client.session(repo["id"], permissionMode="default")
        task = await anna.client.prompt(session["id"], "[[run echo asked > asked.txt]]")
        approval = await anna.client.approval(session["id"])
        decided = await anna.client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
        assert decided["decidedBy"] == {"kind": "person", "id": None, "user": "anna"}
        await anna.client.wait_task(task)
        await server.client.ask(session["id"], "[[say Hello.]]")
        messages = await anna.client.get(f"/api/sessions/{session['id']}/messages")
        assert [message["content"].get("user") for message in messages if message["role"] == "user"] == ["anna", None]


async def test_keys_of_users_do_not_collide(server: Running) -> None:
    """A4: Two people may use the same idempotency key for different requests."""
    async with as_user(server, "anna", "operator") as anna, as_user(server, "bob", "operator") as bob:
        first = await anna.client.post("/api/boards", {"name": "a", "idempotencyKey": "k"})
        second = await bob.client.post("/api/boards", {"name": "b", "idempotencyKey": "k"})
        third = await server.client.post("/api/boards", {"name": "c", "idempotencyKey": "k"})
        assert len({first["id"], second["id"], third["id"]}) == 3


async def test_ending_rights_with_a_lost_reply(server: Running) -> None:
    """L1, Q4: A token that is deleted or replaced in the database opens nothing, although the reply was lost."""
    revoked, replaced = await token_of(server, "anna", "operator"), await token_of(server, "bob", "operator")
    removed = await token_of(server, "carl", "operator")
    ids = {row["user"]: row["id"] for row in (await server.client.get("/api/tokens"))["tokens"]}
    db = server.services.store.db
    with failing(db, "transaction", TOKENS.remove, fault="lost"):
        await server.client.call("DELETE", f"/api/tokens/{ids['anna']}")
    with failing(db, "transaction", TOKENS.replace, fault="lost"):
        fresh = (await server.client.post(f"/api/tokens/{ids['bob']}/rotate"))["token"]
    with failing(db, "transaction", USERS.remove, fault="lost"):
        await server.client.call("DELETE", "/api/users/carl")
    for token in (revoked, replaced, removed):
        async with as_person(server, token) as person:
            refused(await person.client.http.get("/api/me"), 401, "unauthenticated")
    async with as_person(server, fresh) as bob:
        assert (await bob.client.get("/api/me"))["name"] == "bob"
    for action in ("token.revoked", "user.removed"):
        assert len((await server.client.get("/api/audit", params={"action": action}))["entries"]) == 1


@pytest.mark.postgres
async def test_users_are_stored_in_postgres(tmp_path: Path, postgres_url: str) -> None:
    """O3: Users, tokens, their uses and page keys are stored in PostgreSQL as in SQLite."""
    async with serving(tmp_path, database=postgres_url) as server:
        token = await token_of(server, "anna", "operator")
        async with as_person(server, token) as anna:
            await anna.client.get("/api/me")
        await server.services.user_tokens.record_uses()
        before = (await server.client.get("/api/tokens"))["tokens"][1]
    async with serving(tmp_path, database=postgres_url) as server:
        assert (await server.client.get("/api/tokens"))["tokens"][1] == before
        async with as_person(server, token) as anna, signed_in(server.url, token) as browser:
            await server.client.call("DELETE", "/api/users/anna")
            refused(await anna.client.http.get("/api/me"), 401)
            refused(await browser.http.get("/api/me", headers=browser.headers), 401)
    async with serving(tmp_path, database=postgres_url) as server:
        assert len((await server.client.get("/api/tokens"))["tokens"]) == 1
