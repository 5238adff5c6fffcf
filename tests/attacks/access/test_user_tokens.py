"""Attacks with the tokens of users: weak ones that end others, ends that are put off, and changes that overlap."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from bough.core.access.new_tokens import NewToken
from bough.core.access.users import NewUser
from bough.errors import Denied, Unauthenticated, Unavailable
from bough.model.call import Call
from bough.model.session import Caller
from bough.model.values import times
from bough.storage.queries import Query
from tests.api.error_responses import refused
from tests.api.mcp.mcp_client import Mcp
from tests.support.browser import follow_link, signed_in
from tests.support.eventually import eventually
from tests.support.people import as_person, as_user, token_of
from tests.support.server import Running

FLOOD = b'{"jsonrpc":"2.0","method":"session/none","params":{}}'


async def test_a_weak_token_signs_no_browser_out(server: Running) -> None:
    """L1: A token that only reads does not end a browser that may do more; a browser can always sign itself out."""
    weak = (await server.client.post("/api/tokens", {"scope": "viewer"}))["token"]
    async with as_person(server, weak) as script, signed_in(server.url, server.token) as browser:
        refused(await script.client.http.delete(f"/api/tokens/{browser.key_id}"), 403, "role_too_low")
        async with signed_in(server.url, weak) as reader:
            await script.client.call("DELETE", f"/api/tokens/{reader.key_id}")
            refused(await reader.http.get("/api/me", headers=reader.headers), 401)
        answer = await browser.http.delete(f"/api/tokens/{browser.key_id}", headers=browser.headers)
        assert answer.status_code == 200


async def test_nobody_extends_their_own_token(server: Running) -> None:
    """L1: Rotating one's own token keeps its end; an admin with another token renews it; and no token creates or
    renews one that outlives it."""
    soon = times.after(7 * 86400)
    mine = await token_of(server, "ada", "admin", expiresAt=soon)
    row = (await server.client.get("/api/tokens"))["tokens"][1]
    forever = await server.client.post("/api/tokens", {"user": "ada", "expiresAt": None})
    async with as_person(server, mine) as ada:
        http = ada.client.http
        for body in ({"expiresAt": None}, {"expiresAt": times.after(8 * 86400)}, {"user": "ada", "expiresAt": None}):
            refused(await http.post("/api/tokens", json=body), 403, "token_outlives_yours")
        assert (await ada.client.post("/api/tokens", {}))["expiresAt"] == row["expiresAt"]
        refused(await http.post(f"/api/tokens/{forever['id']}/rotate"), 403, "token_outlives_yours")
        rotated = await ada.client.post(f"/api/tokens/{row['id']}/rotate")
        assert rotated["expiresAt"] == row["expiresAt"]
    async with signed_in(server.url, rotated["token"]) as browser:
        again = await browser.http.post(f"/api/tokens/{row['id']}/rotate", headers=browser.headers, json={})
        assert again.json()["expiresAt"] == row["expiresAt"]
    renewed = await server.client.post(f"/api/tokens/{row['id']}/rotate")
    assert renewed["expiresAt"] > row["expiresAt"]


async def test_a_revoked_token_stays_revoked(server: Running) -> None:
    """L1: However rotations and a revocation of one token overlap, nothing of it opens the server afterwards, now or
    after a restart."""
    tokens, caller = server.services.user_tokens, Caller()
    for _ in range(5):
        token = await token_of(server, "eve", "operator")
        async with as_person(server, token) as user:
            (row,) = (await user.client.get("/api/tokens"))["tokens"]
            ticket = await follow_link(user.client.http, token)
            origin = {"origin": server.url, "authorization": ""}
            done = await asyncio.gather(
                tokens.rotate(caller, row["id"]),
                user.client.http.post("/sign-in", json={"ticket": ticket}, headers=origin),
                tokens.rotate(caller, row["id"]),
                tokens.revoke(caller, row["id"]),
                tokens.rotate(caller, row["id"]),
                return_exceptions=True,
            )
            secrets = [item[1] for item in done if isinstance(item, tuple)]
            for secret in (token, *secrets):
                refused(await user.client.http.get("/api/me", headers={"authorization": f"Bearer {secret}"}), 401)
        assert len((await server.client.get("/api/tokens"))["tokens"]) == 1
    await tokens.load()
    await server.services.page_keys.load()
    assert len((await server.client.get("/api/tokens"))["tokens"]) == 1


async def test_a_revoked_admin_leaves_no_token_behind(server: Running) -> None:
    """L1: What an admin had asked for before the token was revoked, and what had to wait for that, is refused."""
    token = await token_of(server, "ada", "admin")
    used = server.services.user_tokens.find(token, "rest")
    assert used is not None
    tokens, users = server.services.user_tokens, server.services.users
    done = await asyncio.gather(
        tokens.revoke(Caller(), used.token.id),
        tokens.add(used.caller, NewToken()),
        users.add(used.caller, NewUser("mallory", "admin")),
        return_exceptions=True,
    )
    assert [type(item) for item in done[1:]] == [Unauthenticated, Unauthenticated]
    assert len((await server.client.get("/api/tokens"))["tokens"]) == 1
    assert len((await server.client.get("/api/users"))["users"]) == 2


async def test_a_cancelled_revocation_is_finished(server: Running) -> None:
    """L1: A request that is given up does not leave a token valid that the database no longer has."""
    token = await token_of(server, "eve", "operator")
    row = (await server.client.get("/api/tokens"))["tokens"][1]
    revoking = asyncio.create_task(server.services.user_tokens.revoke(Caller(), row["id"]))
    await asyncio.sleep(0)
    revoking.cancel()
    async with as_person(server, token) as user:

        async def ended() -> bool:
            return (await user.client.http.get("/api/me")).status_code == 401

        await eventually(ended, "the token is revoked")


async def test_a_call_left_by_a_server_has_the_rights_of_now(server: Running) -> None:
    """L1: A person's call that is carried out later is refused if the token or the role was taken away meanwhile."""
    executor = server.services.calls._executor  # pyright: ignore[reportPrivateUsage]
    async with as_user(server, "otto", "operator") as operator:
        tools = Mcp(operator.client.http, operator.token)
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"])
        await tools.call("agor_sessions_update", sessionId=session["id"], title="Once")
        query = Query("calls", "SELECT * FROM calls", "Lists all calls.")
        (call,) = await server.services.store.read(lambda tx: tx.all(query, Call))
        assert call.token_id is not None and call.session_id is None
        await executor.check(call, {"sessionId": session["id"], "title": "Once"})
        await server.client.call("PATCH", "/api/users/otto", json={"role": "viewer"})
        with pytest.raises(Denied) as low:
            await executor.check(call, {"sessionId": session["id"], "title": "Twice"})
        assert low.value.code == "role_too_low"
        await server.client.call("DELETE", "/api/users/otto")
        with pytest.raises(Denied) as ended:
            await executor.check(call, {"sessionId": session["id"], "title": "Twice"})
        assert ended.value.code == "token_ended"


@pytest.mark.parametrize("path", ["/acp", "/api/events"])
async def test_a_flood_does_not_keep_a_revoked_socket_open(server: Running, path: str) -> None:
    """L1: A socket ends with its token, also if its client sends without a pause."""
    token = await token_of(server, "eve", "operator")
    row = (await server.client.get("/api/tokens"))["tokens"][1]
    headers = {"authorization": f"Bearer {token}"}
    async with connect(server.url.replace("http", "ws", 1) + path, additional_headers=headers) as socket:

        async def flood() -> None:
            with contextlib.suppress(ConnectionClosed):
                while True:
                    await socket.send(FLOOD, text=True)
                    # The server runs in the same loop.
                    await asyncio.sleep(0)

        flooding = asyncio.create_task(flood())
        await server.client.call("DELETE", f"/api/tokens/{row['id']}")
        with pytest.raises(ConnectionClosed):
            while True:
                await socket.recv()
        await flooding


async def test_a_revoked_token_is_told_nothing_that_it_waited_for(server: Running) -> None:
    """L1: A request that waits, at either door, is refused as soon as its token is revoked."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    task = await server.client.prompt(session["id"], "[[run echo asked > asked.txt]]")
    await server.client.approval(session["id"])
    token = await token_of(server, "eve", "viewer")
    row = (await server.client.get("/api/tokens"))["tokens"][1]
    async with as_person(server, token) as viewer:
        wait: dict[str, Any] = {"name": "agor_sessions_wait", "arguments": {"taskIds": [task], "timeoutSeconds": 40}}
        waits = server.services.waiting
        waiting = [
            asyncio.create_task(viewer.client.http.post("/api/wait", json={"taskIds": [task], "timeoutSeconds": 40})),
            asyncio.create_task(Mcp(viewer.client.http, token).post("tools/call", wait)),
        ]
        await eventually(lambda: len(waits._waiters) == 2, "both wait")  # pyright: ignore[reportPrivateUsage]
        await server.client.call("DELETE", f"/api/tokens/{row['id']}")
        for answer in await asyncio.gather(*waiting):
            refused(answer, 401, "unauthenticated")


async def test_a_lost_reply_adds_no_second_entry(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: A change of rights that was stored although its reply was lost is repeated without a second entry."""
    store, lost = server.services.store, list[str]()
    write = store.write

    async def forgetful(work: Any) -> Any:
        done = await write(work)
        if not lost:
            lost.append("reply")
            raise Unavailable("database_away", "The connection broke.")
        return done

    await token_of(server, "eve", "operator")
    row = (await server.client.get("/api/tokens"))["tokens"][1]
    tokens, users, caller = server.services.user_tokens, server.services.users, Caller()
    monkeypatch.setattr(store, "write", forgetful)
    secret = (await tokens.rotate(caller, row["id"]))[1]
    assert tokens.find(secret, "rest") is not None
    lost.clear()
    await users.set_role(caller, "eve", "viewer")
    lost.clear()
    await tokens.revoke(caller, row["id"])
    lost.clear()
    await users.remove(caller, "eve")
    monkeypatch.undo()
    entries = (await server.client.get("/api/audit"))["entries"]
    actions = [entry["action"] for entry in entries if entry["action"].startswith(("token.", "user."))]
    assert actions[::-1] == [
        "user.added",
        "token.added",
        "token.rotated",
        "user.changed",
        "token.revoked",
        "user.removed",
    ]
