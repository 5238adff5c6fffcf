"""Tests that presets are kept by admins, that sessions start from them, and that they loosen nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.error_responses import Json, refused
from tests.support.client import Client
from tests.support.people import as_user
from tests.support.server import Running

SECRET = "key-7f3a9c"
REVIEWER: Json = {
    "name": "reviewer",
    "description": "Reads and comments",
    "agent": "demo",
    "model": "demo-large",
    "effort": "high",
    "permissionMode": "plan",
    "env": {"REVIEW_KEY": SECRET},
    "instructions": "You are a careful reviewer.",
}
SETTINGS = ("agent", "model", "effort", "permissionMode", "preset")


async def repo_of(server: Running) -> str:
    return (await server.client.repo(server.repo()))["id"]


async def create(server: Running, repo_id: str, **fields: Any) -> Json:
    return await server.client.post("/api/sessions", {"repoId": repo_id, "makeRoom": True, **fields})


async def recalled(client: Client, session_id: str) -> str:
    """Returns all that the agent was told, as it says itself."""
    task_id = await client.prompt(session_id, "[[recall]]")
    assert (await client.wait_task(task_id))["status"] == "completed"
    return str(await client.get(f"/api/sessions/{session_id}/messages"))


async def test_presets_are_kept_without_showing_secrets(server: Running) -> None:
    """N1: Adds, lists, shows, changes and removes presets; values of variables are stored and never shown."""
    client = server.client
    async with client.events() as events:
        added = await client.post("/api/presets", REVIEWER)
        assert added["env"] == {"REVIEW_KEY": "***"} and added["instructions"] == REVIEWER["instructions"]
        refused(await client.http.post("/api/presets", json=REVIEWER), 409, "name_taken")
        assert await client.get("/api/presets/reviewer") == added
        assert await client.get(f"/api/presets/{added['id']}") == added
        patch = {"name": "critic", "model": None, "env": {"REVIEW_KEY": "***", "MORE": "b"}}
        changed = await client.call("PATCH", "/api/presets/reviewer", json=patch)
        assert (changed["name"], changed["model"], changed["effort"]) == ("critic", None, "high")
        assert [row["name"] for row in (await client.get("/api/presets"))["presets"]] == ["critic"]
        session = await create(server, await repo_of(server), preset="critic")
        assert session["env"] == {"REVIEW_KEY": "***", "MORE": "***"}
        task_id = await client.prompt(session["id"], "[[run echo got-$REVIEW_KEY-$MORE]]")
        await client.call("PATCH", f"/api/sessions/{session['id']}", json={"permissionMode": "bypassPermissions"})
        await client.wait_task(task_id)
        await client.call("DELETE", "/api/presets/critic")
        await events.until(lambda event: event["type"] == "preset.removed")
    assert SECRET not in str(events.seen)
    entries = (await client.get("/api/audit"))["entries"]
    assert {"preset.added", "preset.changed", "preset.removed"} <= {entry["action"] for entry in entries}
    assert SECRET not in str(entries)
    refused(await client.http.get("/api/presets/critic"), 404, "preset_not_found")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"name": "0190aaaabbbb"}, 400, "bad_name"),
        ({"name": "deadbeef"}, 400, "bad_name"),
        ({"name": "with space"}, 400, "bad_name"),
        ({"agent": "nobody"}, 400, "unknown_agent"),
        ({"model": " "}, 400, "bad_choice"),
        ({"instructions": "x" * 20_001}, 400, "bad_preset"),
        ({"instructions": "a\0b"}, 400, "bad_preset"),
        ({"env": {"A=B": "c"}}, 400, "bad_env"),
        ({"mcpServerIds": ["0190aaaa"]}, 404, "mcp_server_not_found"),
        ({"permissionMode": "root"}, 400, None),
        ({"unknown": 1}, 400, None),
    ],
)
async def test_wrong_presets_are_refused(server: Running, change: Json, status: int, code: str | None) -> None:
    """N1: A preset is refused with a reason if no session could use it."""
    refused(await server.client.http.post("/api/presets", json=REVIEWER | change), status, code)


async def test_a_session_starts_from_a_preset(server: Running) -> None:
    """N2: A session takes over what the request leaves out, remembers the preset, and its agent gets the
    instructions."""
    repo_id = await repo_of(server)
    await server.client.post("/api/presets", REVIEWER)
    session = await create(server, repo_id, preset="reviewer")
    assert [session[name] for name in SETTINGS] == ["demo", "demo-large", "high", "plan", "reviewer"]
    assert REVIEWER["instructions"] in await recalled(server.client, session["id"])
    own = await create(server, repo_id, preset="reviewer", permissionMode="default", effort="low", env={"A": "b"})
    assert [own[name] for name in SETTINGS] == ["demo", "demo-large", "low", "default", "reviewer"]
    assert own["env"] == {"A": "***", "REVIEW_KEY": "***"}
    # Model and effort are those of the preset's agent.
    other = await create(server, repo_id, preset="reviewer", agent="terminal")
    assert (other["agent"], other["model"], other["effort"]) == ("terminal", None, None)
    answer = await server.client.http.post("/api/sessions", json={"repoId": repo_id, "preset": "nobody"})
    refused(answer, 404, "preset_not_found")


async def test_forks_children_and_racers_start_from_presets(server: Running) -> None:
    """N2: A preset counts before what is inherited; without one, branches inherit preset and instructions."""
    client = server.client
    session_id = (await create(server, await repo_of(server), agent="demo", title="Root"))["id"]
    await client.post("/api/presets", REVIEWER)
    await recalled(client, session_id)
    fork = await client.post(f"/api/sessions/{session_id}/fork", {"preset": "reviewer"})
    row = await client.get(f"/api/sessions/{fork['sessionId']}")
    assert [row[name] for name in SETTINGS] == ["demo", "demo-large", "high", "plan", "reviewer"]
    assert row["env"] == {"REVIEW_KEY": "***"}
    assert REVIEWER["instructions"] in await recalled(client, row["id"])
    child = await client.post(f"/api/sessions/{row['id']}/spawn", {"prompt": "[[recall]]"})
    await client.wait_task(child["taskId"])
    child_row = await client.get(f"/api/sessions/{child['sessionId']}")
    assert (child_row["preset"], child_row["presetId"]) == ("reviewer", row["presetId"])
    assert REVIEWER["instructions"] in await recalled(client, child["sessionId"])
    race = {"prompt": "[[say done]]", "contenders": [{"preset": "reviewer"}, {"model": "demo-small"}]}
    started = await client.post(f"/api/sessions/{session_id}/race", race)
    racers = [await client.get(f"/api/sessions/{racer['sessionId']}") for racer in started["sessions"]]
    assert [(racer["preset"], racer["model"]) for racer in racers] == [("reviewer", "demo-large"), (None, "demo-small")]


async def test_removed_and_renamed_presets_break_no_session(server: Running) -> None:
    """N3: Sessions keep what they took over, and a schedule says that its preset is missing."""
    client, repo_id = server.client, await repo_of(server)
    await client.post("/api/presets", REVIEWER)
    session = await create(server, repo_id, preset="reviewer")
    new = {"prompt": "hello", "at": "2099-01-01T00:00", "session": {"repoId": repo_id, "preset": "reviewer"}}
    schedule = await client.post("/api/schedules", new)
    assert (schedule["preset"], schedule["problem"]) == ("reviewer", None)
    await client.call("PATCH", "/api/presets/reviewer", json={"name": "critic"})
    assert (await client.get(f"/api/schedules/{schedule['id']}"))["preset"] == "critic"
    run = await client.post(f"/api/schedules/{schedule['id']}/run")
    assert (await client.get(f"/api/sessions/{run['sessionId']}"))["preset"] == "critic"
    await client.call("DELETE", "/api/presets/critic")
    shown = await client.get(f"/api/schedules/{schedule['id']}")
    assert shown["preset"] is None and "preset was removed" in shown["problem"]
    failed = await client.post(f"/api/schedules/{schedule['id']}/run")
    assert failed["status"] == "failed" and "no preset" in failed["reason"]
    assert (await client.get(f"/api/sessions/{session['id']}"))["preset"] == "reviewer"
    assert REVIEWER["instructions"] in await recalled(client, session["id"])


async def test_a_repeated_request_outlives_its_preset(server: Running) -> None:
    """A4: A repeated key returns the first session, although the preset was changed and removed since."""
    body = {"repoId": await repo_of(server), "preset": "reviewer", "idempotencyKey": "one"}
    await server.client.post("/api/presets", REVIEWER)
    first = await server.client.post("/api/sessions", body)
    await server.client.call("PATCH", "/api/presets/reviewer", json={"effort": "low"})
    assert (await server.client.post("/api/sessions", body))["id"] == first["id"]
    await server.client.call("DELETE", "/api/presets/reviewer")
    assert (await server.client.post("/api/sessions", body))["id"] == first["id"]


async def test_a_removed_server_leaves_presets(server: Running) -> None:
    """N1: A preset does not keep the id of an MCP server that was removed."""
    command = {"name": "tool", "transport": "stdio", "command": "/bin/true"}
    tool = (await server.client.post("/api/mcp-servers", command))["id"]
    await server.client.post("/api/presets", REVIEWER | {"mcpServerIds": [tool]})
    session = await create(server, await repo_of(server), preset="reviewer")
    assert session["mcpServerIds"] == [tool]
    bare = await create(server, session["repoId"], preset="reviewer", mcpServerIds=[])
    assert bare["mcpServerIds"] == []
    await server.client.call("DELETE", f"/api/mcp-servers/{tool}")
    assert (await server.client.get("/api/presets/reviewer"))["mcpServerIds"] == []


async def test_only_admins_keep_presets(server: Running) -> None:
    """J2: Operators use presets and viewers read them; neither changes one, or gains a right by one."""
    repo_id = await repo_of(server)
    await server.client.post("/api/presets", REVIEWER)
    await server.client.post("/api/presets", {"name": "open", "agent": "demo", "sandbox": "off"})
    await server.client.post("/api/presets", {"name": "home", "agent": "demo", "env": {"HOME": "/tmp"}})
    await server.client.call("PATCH", f"/api/repos/{repo_id}", json={"sandbox": "auto"})
    async with as_user(server, "olga", "operator") as olga:
        http = olga.client.http
        refused(await http.post("/api/presets", json=REVIEWER | {"name": "mine"}), 403, "role_too_low")
        refused(await http.patch("/api/presets/reviewer", json={"agent": "terminal"}), 403, "role_too_low")
        refused(await http.delete("/api/presets/reviewer"), 403, "role_too_low")
        own = await create(olga, repo_id, preset="reviewer")
        assert own["preset"] == "reviewer"
        for name in ("open", "home"):
            answer = await http.post("/api/sessions", json={"repoId": repo_id, "preset": name})
            refused(answer, 403, "role_too_low")
            answer = await http.post(f"/api/sessions/{own['id']}/fork", json={"preset": name})
            refused(answer, 403, "role_too_low")


async def test_a_repository_only_narrows_by_its_preset(server: Running) -> None:
    """W5: `.bough.toml` may name a preset for sessions that name no agent. It never leads to a wider mode, and a preset
    that brings variables, MCP servers or a sandbox is not used."""
    client = server.client
    await client.post("/api/presets", {**REVIEWER, "env": {}, "permissionMode": "allow-all", "name": "wide"})
    await client.post("/api/presets", REVIEWER)
    await client.post("/api/presets", {"name": "open", "agent": "demo", "sandbox": "off"})
    path = server.repo()
    repo_id = (await client.repo(path))["id"]

    async def proposed(name: str, **fields: Any) -> Json:
        (path / ".bough.toml").write_text(f'preset = "{name}"\n')
        return await create(server, repo_id, **fields)

    wide = await proposed("wide")
    assert (wide["preset"], wide["effort"], wide["permissionMode"]) == ("wide", "high", "acceptEdits")
    for name in ("reviewer", "open", "gone"):
        session = await proposed(name)
        assert session["preset"] is None and session["env"] == {} and session["sandbox"] is None
        assert name in session["warnings"][0]
    assert (await proposed("wide", agent="terminal"))["preset"] is None
    assert (await proposed("wide", preset="reviewer"))["preset"] == "reviewer"
