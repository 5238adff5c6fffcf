"""Tests the audit trail over REST: what is recorded, and how it is read."""

from __future__ import annotations

from tests.api.error_responses import refused
from tests.support.browser import signed_in
from tests.support.client import Json
from tests.support.people import as_user, token_of
from tests.support.server import Running

ROLE_COLUMNS = ("userName", "role", "door", "action")


async def entries(server: Running, **query: str | int) -> list[Json]:
    return (await server.client.get("/api/audit", params={"limit": 500, **query}))["entries"]


async def test_what_people_do_is_recorded(server: Running) -> None:
    """L1: Who opened, prompted, decided and changed rights is recorded, with the door, and without prompts."""
    async with as_user(server, "anna", "operator") as anna:
        repo = await anna.client.repo(server.repo())
        session = await anna.client.session(repo["id"], permissionMode="default")
        task = await anna.client.prompt(session["id"], "[[run echo secret-words > asked.txt]]")
        approval = await anna.client.approval(session["id"])
        await anna.client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
        await anna.client.wait_task(task)
        await anna.client.call("PATCH", f"/api/sessions/{session['id']}", json={"permissionMode": "acceptEdits"})
    rule = await server.client.post("/api/policy/rules", {"effect": "deny", "command": "rm *"})
    await server.client.call("PATCH", f"/api/repos/{repo['id']}", json={"sandbox": "auto"})
    recorded = [tuple(entry[name] for name in ROLE_COLUMNS) for entry in reversed(await entries(server))]
    assert recorded == [
        ("owner", "admin", "rest", "user.added"),
        ("owner", "admin", "rest", "token.added"),
        ("anna", "operator", "rest", "repo.added"),
        ("anna", "operator", "rest", "session.created"),
        ("anna", "operator", "rest", "session.prompted"),
        ("anna", "operator", "rest", "approval.decided"),
        ("anna", "operator", "rest", "session.changed"),
        ("owner", "admin", "rest", "rule.added"),
        ("owner", "admin", "rest", "repo.changed"),
    ]
    (decision,) = await entries(server, action="approval.decided")
    assert (decision["sessionId"], decision["subjectId"]) == (session["id"], approval["id"])
    assert decision["details"]["decision"] == "deny"
    (added,) = await entries(server, action="rule")
    assert added["subjectId"] == rule["id"] and added["details"] == {"effect": "deny", "command": "rm *"}
    text = (await server.client.http.get("/api/audit", params={"limit": 500})).text
    assert "secret-words" not in text and anna.token not in text


async def test_sign_ins_and_agents_are_recorded(server: Running) -> None:
    """L1: Sign-ins, the page's changes and an agent's own calls name their door."""
    token = await token_of(server, "anna", "operator")
    async with signed_in(server.url, token) as browser:
        repo = await server.client.repo(server.repo())
        body = {"repoId": repo["id"], "agent": "demo", "permissionMode": "bypassPermissions"}
        session = (await browser.http.post("/api/sessions", headers=browser.headers, json=body)).json()
        await server.client.ask(session["id"], '[[mcp agor_sessions_spawn {"prompt": "[[say Hello.]]"}]]')
    (signed,) = await entries(server, action="page.signed_in")
    assert (signed["userName"], signed["door"], signed["tokenId"]) == ("anna", "page", browser.key_id)
    spawned, opened = await entries(server, action="session.created")
    assert (opened["userName"], opened["door"], opened["tokenId"]) == ("anna", "page", browser.key_id)
    assert (spawned["kind"], spawned["callerSessionId"], spawned["door"]) == ("session", session["id"], "mcp")
    assert spawned["userName"] is None and spawned["role"] is None


async def test_more_of_what_people_do(server: Running) -> None:
    """L1: Worktrees, the archive, variables, inherited choices and forgotten repositories are recorded, too."""
    client = server.client
    repo = await client.repo(server.repo())
    worktree = await client.post("/api/worktrees", {"repoId": repo["id"], "branch": "side"})
    await client.call("DELETE", f"/api/worktrees/{worktree['id']}", params={"force": True})
    await client.post(f"/api/worktrees/{worktree['id']}/recover")
    session = await client.session(repo["id"], env={"B_KEY": "secret-value"})
    patch = {"env": {"A_KEY": "secret-value"}, "sandbox": None}
    await client.call("PATCH", f"/api/sessions/{session['id']}", json=patch)
    for archived in (True, False):
        await client.post(f"/api/sessions/{session['id']}/archive", {"archived": archived})
    await client.post("/api/checkpoints/prune", {"days": 365})
    by_action = {entry["action"]: entry for entry in await entries(server)}
    for action in ("created", "removed", "recovered"):
        assert by_action[f"worktree.{action}"]["subjectId"] == worktree["id"]
    assert by_action["worktree.removed"]["details"]["force"] is True
    assert by_action["session.created"]["details"]["env"] == ["B_KEY"]
    changed = by_action["session.changed"]["details"]
    assert list(changed["env"]) == ["A_KEY"] and changed["sandbox"] == "inherit"
    assert by_action["session.archived"]["subjectId"] == by_action["session.unarchived"]["subjectId"] == session["id"]
    assert by_action["checkpoints.pruned"]["details"] == {"count": 0, "days": 365}
    assert "secret-value" not in str(by_action)
    other = await client.repo(server.repo("other"))
    await client.call("DELETE", f"/api/repos/{other['id']}")
    (removed,) = await entries(server, action="repo.removed")
    assert removed["subjectId"] == other["id"]


async def test_filters_and_pages(server: Running) -> None:
    """L1: The list is filtered by person, action, session and time, and read forward from a number."""
    for number in range(3):
        await server.client.post("/api/users", {"name": f"u{number}"})
    newest, middle, oldest = await entries(server)
    assert [oldest["number"], middle["number"], newest["number"]] == [1, 2, 3]
    assert await entries(server, after=1) == [middle, newest]
    assert await entries(server, after=1, limit=1) == [middle]
    assert await entries(server, user="owner", action="user") == [newest, middle, oldest]
    assert await entries(server, user="u0") == []
    assert await entries(server, since=middle["at"]) == [newest, middle]
    assert await entries(server, until=middle["at"]) == [oldest]
    refused(await server.client.http.get("/api/audit?action=sessions"), 400, "unknown_action")
    refused(await server.client.http.get("/api/audit?since=x"), 400, "bad_time")
    for method in ("POST", "PATCH", "PUT", "DELETE"):
        refused(await server.client.http.request(method, "/api/audit"), 405, "method_not_allowed")


async def test_a_repeated_request_is_recorded_once(server: Running) -> None:
    """A4: What acts once is recorded once, and what fails is not recorded."""
    for _ in range(2):
        await server.client.post("/api/users", {"name": "anna", "idempotencyKey": "k"})
    refused(await server.client.http.post("/api/users", json={"name": "anna"}), 409)
    assert [entry["action"] for entry in await entries(server)] == ["user.added"]
