"""Attacks of people with fewer rights than they want: viewers who write, operators who grant, ended tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from bough.api.roles import ROUTES
from bough.core.policy.network_reach import host_env, reached_hosts
from bough.core.store import records
from bough.model.access.user import ROLES
from bough.model.values import times
from bough.storage.backend import Tx
from tests.api.acp.editor_client import editing
from tests.api.error_responses import NOBODY, refused
from tests.api.mcp.mcp_client import Mcp
from tests.support.acp.acp_driver import Refused
from tests.support.browser import follow_link, signed_in
from tests.support.client import Json
from tests.support.eventually import eventually
from tests.support.people import as_person, as_user, token_of
from tests.support.server import Running, serving


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_no_route_above_the_role_opens(server: Running, role: str) -> None:
    """L1: Every route that needs a higher role refuses, whatever is sent, and before it reads the body."""
    async with as_user(server, "mallory", role) as user:
        for route, needed in ROUTES.items():
            method, _, template = route.partition(" ")
            if method == "WS" or needed == "anybody" or ROLES.index(needed) <= ROLES.index(role):
                continue
            address = "/".join(NOBODY if part.startswith("{") else part for part in template.split("/"))
            error = refused(await user.client.http.request(method, address, content=b"{"), 403, "role_too_low")
            assert error["details"] == {"needed": needed, "role": role}


async def test_a_viewer_reads_everything_else(server: Running) -> None:
    """L1: A viewer sees sessions, transcripts and events."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], initialPrompt="say hello")
    async with as_user(server, "vera", "viewer") as viewer:
        assert (await viewer.client.get("/api/me"))["name"] == "vera"
        assert (await viewer.client.get(f"/api/sessions/{session['id']}"))["id"] == session["id"]
        async with viewer.client.events() as events:
            await server.client.post("/api/boards", {"name": "x"})
            await events.until(lambda event: event["type"] == "board.created")


async def test_an_operator_widens_no_rights(server: Running) -> None:
    """L1: Fields that change the sandbox, setup or unusual folders need an admin, also where the route does not."""
    repo = await server.client.repo(server.repo())
    choice = {"sandbox": "auto", "sandboxProfile": "strict"}
    await server.client.call("PATCH", f"/api/repos/{repo['id']}", json=choice)
    async with as_user(server, "otto", "operator") as operator:
        http = operator.client.http
        session = await operator.client.session(repo["id"])
        assert session["createdBy"] == {"kind": "person", "id": None, "user": "otto"}
        for method, path, body in (
            ("PATCH", f"/api/repos/{repo['id']}", {"setup": ["true"]}),
            ("PATCH", f"/api/repos/{repo['id']}", {"copyIgnored": [".env"]}),
            ("PATCH", f"/api/repos/{repo['id']}", {"sandbox": "off"}),
            ("PATCH", f"/api/repos/{repo['id']}", {"sandboxProfile": "strict"}),
            ("PATCH", f"/api/repos/{repo['id']}", {"sandboxHosts": ["example.com"]}),
            ("PATCH", f"/api/sessions/{session['id']}", {"sandbox": "off"}),
            ("PATCH", f"/api/sessions/{session['id']}", {"sandboxProfile": "workspace"}),
            ("POST", "/api/sessions", {"repoId": repo["id"], "agent": "demo", "sandbox": "off"}),
            ("POST", "/api/sessions", {"repoId": repo["id"], "agent": "demo", "sandboxProfile": "workspace"}),
            (
                "POST",
                "/api/sessions",
                {"repoId": repo["id"], "agent": "demo", "folder": ".git", "confirmFolder": True},
            ),
        ):
            refused(await http.request(method, path, json=body), 403, "role_too_low")
        assert (await operator.client.session(repo["id"], sandbox="required"))["sandbox"] == "required"
        await operator.client.call("PATCH", f"/api/repos/{repo['id']}", json={"name": "renamed"})


async def test_an_operator_forgets_no_hosts(server: Running) -> None:
    """L1: A repository with a profile or hosts of its own is forgotten only by an admin, and the trail names both."""
    async with as_user(server, "otto", "operator") as operator:
        for choice in ({"sandboxProfile": "workspace"}, {"sandboxHosts": ["example.com"]}):
            (name,) = choice
            repo = await server.client.repo(server.repo(name))
            await server.client.call("PATCH", f"/api/repos/{repo['id']}", json=choice)
            refused(await operator.client.http.delete(f"/api/repos/{repo['id']}"), 403, "role_too_low")
    entries = (await server.client.get("/api/audit", params={"action": "repo.changed"}))["entries"]
    details = [entry["details"] for entry in entries]
    assert {"workspace"} <= {detail.get("sandbox_profile") for detail in details}
    assert ["example.com"] in [detail.get("sandbox_hosts") for detail in details]


async def test_an_operators_variables_open_no_hosts(server: Running) -> None:
    """S6: A variable that names the model's host opens it to a strictly confined agent only if an admin has set it."""
    services, address = server.services, "169.254.169.254:8080"
    entry, env = services.catalog.get("claude-code"), {"ANTHROPIC_BASE_URL": f"http://{address}"}

    async def is_open(session_id: str) -> bool:
        async def work(tx: Tx) -> list[str]:
            session = await records.session(tx, session_id)
            return await reached_hosts(tx, entry, session, services.settings, await host_env(tx, session_id))

        return address in await services.store.read(work)

    repo = await server.client.repo(server.repo())
    async with as_user(server, "otto", "operator") as operator:
        trusted = (await server.client.session(repo["id"], env=env))["id"]
        untrusted = (await operator.client.session(repo["id"], env=env))["id"]
        assert (await is_open(trusted), await is_open(untrusted)) == (True, False)
        inherited = await operator.client.post(f"/api/sessions/{trusted}/fork", {})
        still_untrusted = await server.client.post(f"/api/sessions/{untrusted}/fork", {})
        replaced = await operator.client.post(f"/api/sessions/{trusted}/fork", {"env": env})
        forks = [await is_open(fork["sessionId"]) for fork in (inherited, still_untrusted, replaced)]
        assert forks == [True, False, False]
        await operator.client.call("PATCH", f"/api/sessions/{trusted}", json={"env": env})
        await server.client.call("PATCH", f"/api/sessions/{untrusted}", json={"env": env})
        assert (await is_open(trusted), await is_open(untrusted)) == (False, True)


async def test_a_token_grants_no_more_than_its_scope(server: Running) -> None:
    """L1: A token is limited by its scope and its user's role, whichever is lower, and cannot renew a stronger one."""
    await token_of(server, "ada", "admin")
    weak = await token_of(server, "ada", "admin", scope="viewer")
    await server.client.post("/api/users", {"name": "bob", "role": "viewer"})
    answer = await server.client.http.post("/api/tokens", json={"user": "bob", "scope": "admin"})
    refused(answer, 400, "scope_too_wide")
    async with as_person(server, weak) as viewer:
        rows = (await viewer.client.get("/api/tokens"))["tokens"]
        assert {row["user"] for row in rows} == {"ada"}
        assert [row["current"] for row in rows] == [False, True]
        refused(await viewer.client.http.post(f"/api/tokens/{rows[0]['id']}/rotate"), 403, "role_too_low")
        refused(await viewer.client.http.delete(f"/api/tokens/{rows[0]['id']}"), 403, "role_too_low")
        refused(await viewer.client.http.post("/api/tokens", json={"user": "ada"}), 403, "role_too_low")


async def test_an_admin_does_not_become_the_owner(server: Running) -> None:
    """L1: A named admin creates no token of the owner, does not replace the server's token and cannot change the
    owner."""
    async with as_user(server, "ada", "admin") as admin:
        http = admin.client.http
        refused(await http.post("/api/tokens", json={"user": "owner"}), 403, "owner_only")
        assert (await admin.client.post("/api/tokens", {}))["user"] == "ada"
        refused(await http.post("/api/tokens/rotate", json={}), 403, "needs_server_token")
        refused(await http.patch("/api/users/owner", json={"role": "viewer"}), 409, "owner_fixed")
        refused(await http.delete("/api/users/owner"), 409, "owner_fixed")
        own = (await server.client.post("/api/tokens", {"scope": "viewer"}))["id"]
        refused(await http.delete(f"/api/tokens/{own}"), 403, "owner_only")
        refused(await http.post(f"/api/tokens/{own}/rotate"), 403, "owner_only")
        async with signed_in(server.url, server.token) as browser:
            refused(await http.delete(f"/api/tokens/{browser.key_id}"), 403, "owner_only")
            assert (await browser.http.get("/api/me", headers=browser.headers)).status_code == 200


async def test_a_lowered_role_counts_at_once(server: Running) -> None:
    """L1: After a change of role, open streams end and the next request has the new rights; after a removal, nothing
    opens any more."""
    token = await token_of(server, "otto", "operator")
    async with (
        as_person(server, token) as operator,
        signed_in(server.url, token) as browser,
        connect(
            f"{server.url.replace('http', 'ws', 1)}/acp", additional_headers={"authorization": f"Bearer {token}"}
        ) as socket,
    ):
        me = await browser.http.get("/api/me", headers=browser.headers)
        assert (me.json()["name"], me.json()["role"]) == ("otto", "operator")
        await server.client.call("PATCH", "/api/users/otto", json={"role": "viewer"})
        with pytest.raises(ConnectionClosed):
            while True:
                await socket.recv()
        refused(await operator.client.http.post("/api/boards", json={"name": "x"}), 403, "role_too_low")
        answer = await browser.http.post("/api/boards", headers=browser.headers, json={"name": "x"})
        refused(answer, 403, "role_too_low")
        await server.client.call("DELETE", "/api/users/otto")
        refused(await operator.client.http.get("/api/me"), 401, "unauthenticated")
        refused(await browser.http.get("/api/me", headers=browser.headers), 401, "unauthenticated")
        assert (await browser.http.get("/")).status_code == 401


async def test_an_expired_or_revoked_token_opens_nothing(server: Running) -> None:
    """L1: A token ends at its time, also in a browser that was signed in with it, and a ticket of it is worthless."""
    soon = await token_of(server, "eve", "operator")
    tokens = server.services.user_tokens
    async with (
        as_person(server, soon) as user,
        signed_in(server.url, soon) as browser,
        connect(
            f"{server.url.replace('http', 'ws', 1)}/acp", additional_headers={"authorization": f"Bearer {soon}"}
        ) as socket,
    ):
        assert (await user.client.get("/api/me"))["name"] == "eve"
        (known,) = tokens._by_hash.values()  # pyright: ignore[reportPrivateUsage]
        known.row.expires_at = times.before(1)
        refused(await user.client.http.get("/api/me"), 401, "unauthenticated")
        refused(await browser.http.get("/api/me", headers=browser.headers), 401, "unauthenticated")
        await tokens.record_uses()
        with pytest.raises(ConnectionClosed):
            while True:
                await socket.recv()
    (entry,) = (await server.client.get("/api/audit", params={"action": "token.expired"}))["entries"]
    assert (entry["kind"], entry["details"]["user"]) == ("system", "eve")
    token = await token_of(server, "eve", "operator")
    async with as_person(server, token) as user:
        ticket = await follow_link(user.client.http, token)
        (row,) = (await user.client.get("/api/tokens"))["tokens"]
        await user.client.call("DELETE", f"/api/tokens/{row['id']}")
        answer = await user.client.http.post(
            "/sign-in", json={"ticket": ticket}, headers={"origin": server.url, "authorization": ""}
        )
        refused(answer, 401, "unauthenticated")


async def test_secrets_are_stored_as_hashes(tmp_path: Path) -> None:
    """L1: Neither the database nor a list contains a token; after a restart it still works."""
    async with serving(tmp_path) as server:
        token = await token_of(server, "anna", "viewer")
        assert token not in (await server.client.http.get("/api/tokens")).text
        data = server.data
    assert all(token.encode() not in path.read_bytes() for path in data.glob("bough.db*"))
    async with serving(tmp_path) as server, as_person(server, token) as viewer:
        assert (await viewer.client.get("/api/me"))["role"] == "viewer"


async def test_tools_and_editors_check_the_role(server: Running) -> None:
    """L1: At the tools' and the editors' doors a viewer only reads."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    async with as_user(server, "vera", "viewer") as viewer:
        tools = Mcp(viewer.client.http, viewer.token)
        assert (await tools.call("agor_sessions_get", sessionId=session["id"]))["session_id"] == session["id"]
        await tools.refused(
            "agor_sessions_prompt", "role_too_low", sessionId=session["id"], prompt="x", mode="continue"
        )
        async with editing(viewer) as editor:
            await editor.load(session["id"])
            requests: tuple[tuple[str, Json], ...] = (
                ("session/new", {"cwd": str(editor.repo), "mcpServers": []}),
                ("session/prompt", {"sessionId": session["id"], "prompt": [{"type": "text", "text": "x"}]}),
                ("session/set_mode", {"sessionId": session["id"], "modeId": "bypassPermissions"}),
            )
            for method, params in requests:
                with pytest.raises(Refused, match="role"):
                    await editor.request(method, params)
    assert (await server.client.get(f"/api/sessions/{session['id']}/tasks"))["total"] == 0


async def test_a_viewers_editor_is_not_asked(server: Running) -> None:
    """L1: Approvals go only to people who may decide them."""
    async with as_user(server, "vera", "viewer") as viewer, editing(viewer) as editor:
        repo = await server.client.repo(server.root / "repo")
        session = await server.client.session(repo["id"])
        await editor.load(session["id"])
        await server.client.prompt(session["id"], "[[run echo asked > asked.txt]]")
        approval = await server.client.approval(session["id"])
        answer = await viewer.client.http.post(f"/api/approvals/{approval['id']}", json={"decision": "allow"})
        refused(answer, 403, "role_too_low")
        await server.client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
        # A question would have been sent before what follows the decision.
        task = await server.client.prompt(session["id"], "[[say Afterwards.]]")
        await server.client.wait_task(task)
        await eventually(lambda: "Afterwards." in str(editor.updates), "the editor is shown the next turn")
        assert editor.permissions == []


async def test_an_operators_editor_brings_no_mcp_servers(server: Running) -> None:
    """L1: MCP servers run commands, so an operator's editor can use registered ones, but neither add nor change one."""
    stdio: Json = {"name": "shell", "command": "/bin/sh", "args": ["-c", "true"], "env": []}
    known: Json = {"name": "known", "command": "/bin/true", "args": [], "env": []}
    await server.client.post("/api/mcp-servers", {"name": "known", "transport": "stdio", "command": "/bin/true"})
    async with as_user(server, "otto", "operator") as operator, editing(operator) as editor:
        for brought in (stdio, {**known, "args": ["-x"]}):
            with pytest.raises(Refused, match="Only an admin can add the MCP server"):
                await editor.request("session/new", {"cwd": str(editor.repo), "mcpServers": [brought]})
        await editor.request("session/new", {"cwd": str(editor.repo), "mcpServers": [known]})
    (row,) = (await server.client.get("/api/mcp-servers"))["mcpServers"]
    assert (row["name"], row["args"]) == ("known", [])


async def test_an_operator_forgets_no_decisions(server: Running) -> None:
    """L1: A repository with a sandbox of its own can be forgotten only by an admin, who may also lower it."""
    repo = await server.client.repo(server.repo())
    await server.client.call("PATCH", f"/api/repos/{repo['id']}", json={"sandbox": "required"})
    async with as_user(server, "otto", "operator") as operator:
        http = operator.client.http
        refused(await http.delete(f"/api/repos/{repo['id']}"), 403, "role_too_low")
        other = await operator.client.repo(server.repo("other"))
        await operator.client.call("DELETE", f"/api/repos/{other['id']}")
        session = await operator.client.session(repo["id"])
        refused(await http.patch(f"/api/sessions/{session['id']}", json={"sandbox": "auto"}), 403, "role_too_low")
        await operator.client.call("PATCH", f"/api/sessions/{session['id']}", json={"sandbox": "required"})
        await operator.client.call("PATCH", f"/api/sessions/{session['id']}", json={"sandbox": None})
