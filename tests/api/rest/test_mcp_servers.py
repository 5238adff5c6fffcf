"""Tests that MCP servers are added, shown without secrets, changed and removed, while agents get the real values."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from bough.core.environment import mcp_check, mcp_servers
from tests.api.error_responses import Json, refused
from tests.core.helpers import messages, open_session
from tests.support.server import Running, serving

PROGRAM = str(Path(__file__).parents[2] / "agents" / "demo" / "mcp_server.py")
REMOTE: Json = {
    "name": "remote",
    "transport": "http",
    "url": "https://ann:pass-1f@127.0.0.1:1/mcp?key=query-2e&mode=query-3d&query-4c",
    "headers": {"Authorization": "header-5b", "X-Other": "header-6a"},
}
LOCAL: Json = {"name": "local", "transport": "stdio", "command": "/bin/cat", "args": ["-u"], "env": {"KEY": "env-7f"}}
SECRETS = ("pass-1f", "query-2e", "query-3d", "query-4c", "header-5b", "header-6a", "env-7f", "fresh-8e", "token-9d")


async def given(server: Running, server_id: str) -> Json:
    """Returns an MCP server as an agent receives it."""
    (server_row,), _ = await server.services.store.read(
        lambda tx: mcp_servers.for_agent(tx, [server_id], http=True, sse=True)
    )
    return msgspec.to_builtins(server_row)


async def test_secrets_are_stored_and_never_shown(server: Running) -> None:
    """R1: Only the agent sees the passwords and query values of a URL and the values of headers and env."""
    client = server.client
    async with client.events() as events:
        remote = await client.post("/api/mcp-servers", REMOTE)
        assert remote["url"] == "https://ann:***@127.0.0.1:1/mcp?key=***&mode=***&***"
        assert remote["headers"] == {"Authorization": "***", "X-Other": "***"}
        token = await client.post("/api/mcp-servers", REMOTE | {"name": "two", "url": "http://token-9d@127.0.0.1/x"})
        assert token["url"] == "http://***@127.0.0.1/x"
        local = await client.post("/api/mcp-servers", LOCAL)
        assert (local["args"], local["env"]) == (["-u"], {"KEY": "***"})
        assert (await given(server, remote["id"]))["url"] == REMOTE["url"]
        path = f"/api/mcp-servers/{remote['id']}"
        await client.call("PATCH", path, json={"url": "http://127.0.0.1:2/?a=fresh-8e"})
        assert (await given(server, remote["id"]))["url"] == "http://127.0.0.1:2/?a=fresh-8e"
        await client.call("DELETE", path)
        await events.until(lambda event: event["type"] == "mcp_server.removed")
    text = str(events.seen) + (await client.http.get("/api/mcp-servers")).text
    assert [secret for secret in SECRETS if secret in text] == []


async def test_a_server_is_tested(server: Running) -> None:
    """A2: Connects to a server and reports its name, its version and its tools."""
    new = {"name": "tools", "transport": "stdio", "command": sys.executable, "args": [PROGRAM, "stdio"]}
    added = await server.client.post("/api/mcp-servers", new)
    outcome = await server.client.post(f"/api/mcp-servers/{added['id']}/test")
    assert (outcome["works"], outcome["error"], outcome["serverName"]) == (True, None, "test")
    assert sorted(outcome["tools"]) == ["add", "boom", "secret"]


async def test_a_server_that_does_not_work_says_why(server: Running, tmp_path: Path) -> None:
    """A2, R1: Each way to fail has its sentence, without secrets, within 15 s."""
    client = server.client
    dying = tmp_path / "dying.py"
    dying.write_text("import os, sys; print('bad key', os.environ['KEY'], file=sys.stderr); sys.exit(3)")
    missing = {"name": "missing", "transport": "stdio", "command": str(tmp_path / "gone")}
    dead = LOCAL | {"name": "dead", "command": sys.executable, "args": [str(dying)]}
    for new, words in ((missing, "gone does not exist."), (REMOTE, "cannot be reached"), (dead, "bad key ***")):
        added = await client.post("/api/mcp-servers", new)
        outcome = await client.post(f"/api/mcp-servers/{added['id']}/test")
        assert outcome["works"] is False and words in outcome["error"] and outcome["seconds"] < 15
        assert not any(secret in str(outcome) for secret in SECRETS)
    refused(await client.http.post("/api/mcp-servers/019a0000-0000-7000-8000-000000000000/test"), 404)


async def test_a_silent_server_is_given_up(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A2: A server that never answers fails the test when the time is up."""
    monkeypatch.setattr(mcp_check, "CONNECT_WITHIN", 0.5)
    added = await server.client.post("/api/mcp-servers", LOCAL | {"command": "/bin/sleep", "args": ["60"]})
    outcome = await server.client.post(f"/api/mcp-servers/{added['id']}/test")
    assert (outcome["works"], outcome["error"]) == (False, "It did not answer within 0.5 s.")


async def test_the_transcript_names_servers_that_cannot_work(server: Running, tmp_path: Path) -> None:
    """C1: A server whose program is missing or whose address refuses connections is named when the agent starts."""
    client = server.client
    missing = {"name": "missing", "transport": "stdio", "command": str(tmp_path / "gone")}
    ids = [(await client.post("/api/mcp-servers", new))["id"] for new in (missing, REMOTE)]
    session = await open_session(server, mcpServerIds=ids)
    await client.ask(session, "[[say hello]]")
    texts = [notice["text"] for notice in await messages(client, session, "notice")]
    assert any("The MCP server missing cannot be used: Its command" in text for text in texts)
    assert any("The MCP server remote cannot be used: 127.0.0.1:1 cannot be reached" in text for text in texts)
    assert not any(secret in str(texts) for secret in SECRETS)


async def test_every_field_can_be_changed(server: Running) -> None:
    """A2: Name, command, args, env, url, headers and enabled can be changed and are validated; omitted fields stay."""
    client = server.client
    local = await client.post("/api/mcp-servers", LOCAL | {"env": {"KEY": "env-7f", "OTHER": "x"}})
    path = f"/api/mcp-servers/{local['id']}"
    body: Json = {"name": "new", "command": "/bin/true", "args": [], "enabled": False}
    changed = await client.call("PATCH", path, json=body)
    assert {name: changed[name] for name in body} == body
    assert changed["env"] == local["env"]
    # A masked value that is sent back leaves the stored value unchanged.
    await client.call("PATCH", path, json={"env": {"KEY": "***", "MORE": "y"}, "enabled": True})
    assert (await given(server, local["id"]))["env"] == [
        {"name": "KEY", "value": "env-7f"},
        {"name": "MORE", "value": "y"},
    ]
    remote = await client.post("/api/mcp-servers", REMOTE)
    there = f"/api/mcp-servers/{remote['id']}"
    await client.call("PATCH", there, json={"url": remote["url"], "headers": {"X-Other": "***"}})
    attached = await given(server, remote["id"])
    assert (attached["url"], attached["headers"]) == (REMOTE["url"], [{"name": "X-Other", "value": "header-6a"}])
    for where, body, code in (
        (path, {}, "nothing_to_change"),
        (path, {"name": "Bough"}, "name_reserved"),
        (path, {"name": "bough@other"}, "name_reserved"),
        (path, {"name": "Bough_tools@other"}, "name_reserved"),
        (path, {"command": "cat"}, "bad_mcp_server"),
        (path, {"env": {"A=B": "c"}}, "bad_env"),
        (path, {"args": ["a\0"]}, "bad_mcp_server"),
        (there, {"url": "file:///etc/passwd"}, "bad_mcp_server"),
        (there, {"url": "http://"}, "bad_mcp_server"),
        (there, {"headers": {"A": "b\nc"}}, "bad_mcp_server"),
        (there, {"transport": "stdio"}, "bad_request"),
    ):
        refused(await client.http.patch(where, json=body), 400, code)
    refused(await client.http.patch(there, json={"name": "new"}), 409, "name_taken")
    assert (await client.get(there))["name"] == "remote"


async def test_names_must_suit_every_agent(server: Running) -> None:
    """R1: A name has 1 to 64 letters, digits, `_` and `-`."""
    for name in ("", " ", "a b", "a/b", "é", "a.b", "x" * 65, "a\n"):
        refused(await server.client.http.post("/api/mcp-servers", json=LOCAL | {"name": name}), 400, "bad_name")
    for name in ("a", "A_b-9", "x" * 64):
        assert (await server.client.post("/api/mcp-servers", LOCAL | {"name": name}))["name"] == name


async def test_a_removed_server_is_removed_from_its_sessions(tmp_path: Path, database_url: str) -> None:
    """A2, R2: Removing a server removes it from its sessions, with an event for each; the sessions continue to work."""
    async with serving(tmp_path, database=database_url) as server:
        await removal(server)


async def removal(server: Running) -> None:
    client = server.client
    repo = await client.repo(server.repo())
    first, second = [await client.post("/api/mcp-servers", LOCAL | {"name": name}) for name in ("one", "two")]
    with_both = await client.session(repo["id"], mcpServerIds=[first["id"], second["id"]])
    with_one = await client.session(repo["id"], mcpServerIds=[second["id"]])
    async with client.events(with_both["id"]) as events:
        await client.call("DELETE", f"/api/mcp-servers/{first['id']}")
        patched = await events.until(lambda event: event["type"] == "session.patched")
    assert patched["data"]["mcpServerIds"] == [second["id"]]
    assert (await client.get(f"/api/sessions/{with_both['id']}"))["mcpServerIds"] == [second["id"]]
    assert (await client.get(f"/api/sessions/{with_one['id']}"))["updatedAt"] == with_one["updatedAt"]
    assert (await client.ask(with_both["id"], "hello"))["status"] == "completed"
