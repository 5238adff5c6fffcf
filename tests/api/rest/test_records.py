"""Tests that every record has the documented camelCase fields in answers, lists and events."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from structlog.testing import capture_logs

from bough import __version__
from bough.load_settings import FIELDS
from bough.model.event import EVENT_TYPES
from tests.api.error_responses import Json, refused
from tests.support.client import Client
from tests.support.server import Running, serving

TIMES = {"createdAt", "updatedAt"}
REPO = {"id", "name", "path", "kind", "defaultBranch"} | TIMES
BOARD = {"id", "name", "isDefault"} | TIMES
MCP_SERVER = {"id", "name", "transport", "command", "args", "env", "url", "headers", "enabled"} | TIMES
SESSION = {
    *("id", "repoId", "worktreeId", "cwd", "agent", "title", "description", "status", "activity", "permissionMode"),
    *("allowedTools", "headless", "model", "effort", "mcpServerIds", "env", "contextFiles", "callback", "kind"),
    *("parentSessionId", "forkedFromSessionId", "rootSessionId", "branchTaskId", "createdBy", "gitState"),
    *("messageCount", "queuePaused", "archived", "metadata", "context", "cost", "activeAt", "endedAt"),
    *("depth", "turns", "tokens", "seconds", "spent", "seenAt", "sandbox", "confinement", "unconfinedReason"),
    *("sandboxProfile", "approvalTimeout", "resumeAfterLimit", "stuck", "stuckSince"),
    *("presetId", "preset"),
} | TIMES
TASK = {
    *("id", "sessionId", "position", "prompt", "source", "sourceSessionId", "status", "attempt", "stopReason", "error"),
    *("gitBefore", "gitAfter", "usage", "cost", "toolUseCount", "startedAt", "endedAt"),
} | TIMES
MESSAGE = {"id", "sessionId", "taskId", "position", "role", "content", "timestamp"} | TIMES
CAMEL = re.compile(r"[a-z]+(?:[A-Z][a-z]+)*")


async def some_of_each(client: Client, repo: Path) -> dict[str, Json]:
    """Creates one record of each kind and returns each as it was answered."""
    known = await client.repo(repo)
    board = await client.post("/api/boards", {"name": "A board"})
    tool = {"name": "tool", "transport": "http", "url": "http://127.0.0.1:1", "headers": {"X": "y"}}
    mcp = await client.post("/api/mcp-servers", tool)
    session = await client.session(known["id"], initialPrompt="[[write a.txt b]][[say done]]")
    task = await client.wait_task(session["taskId"])
    message = (await client.get(f"/api/sessions/{session['id']}/messages"))[-1]
    return {
        "repos": known,
        "boards": board,
        "mcp-servers": mcp,
        "sessions": session,
        "tasks": task,
        "messages": message,
    }


async def test_records_have_the_documented_fields(server: Running) -> None:
    """R1–R4, L3: A record has the same fields when created, read and listed, and has all of them."""
    made = await some_of_each(server.client, server.repo())
    for noun, fields in (("repos", REPO), ("boards", BOARD), ("mcp-servers", MCP_SERVER), ("tasks", TASK)):
        # A task that is read by itself also has its checkpoints.
        more = {"checkpoints", "overlaps"} if noun == "tasks" else set[str]()
        record = {name: value for name, value in made[noun].items() if name not in more}
        assert fields <= record.keys(), noun
        alone = await server.client.get(f"/api/{noun}/{record['id']}")
        assert alone == record | {name: alone[name] for name in more}
        page = await server.client.get(f"/api/{noun}")
        (name,) = page.keys() - {"total", "limit", "offset"}
        assert name == {"mcp-servers": "mcpServers"}.get(noun, noun)
        assert record in page[name]
        assert page["total"] == len(page[name])
    assert made["sessions"].keys() == SESSION | {"taskId", "warnings", "madeRoom"}
    detail = await server.client.get(f"/api/sessions/{made['sessions']['id']}")
    assert detail.keys() == SESSION | {"repo", "messages"}
    assert detail["repo"] == made["repos"]
    (listed,) = (await server.client.get("/api/sessions"))["sessions"]
    assert listed == {name: detail[name] for name in SESSION}
    assert made["messages"].keys() == MESSAGE
    assert await server.client.get(f"/api/messages/{made['messages']['id']}") == made["messages"]
    for record in (*made.values(), detail):
        assert all(CAMEL.fullmatch(name) for name in record), record.keys()


async def test_a_task_describes_its_turn(server: Running) -> None:
    """R3: A task has its source, attempt, stop reason, git state before and after, and number of tool uses."""
    made = await some_of_each(server.client, server.repo())
    task = made["tasks"]
    assert (task["source"], task["status"], task["attempt"]) == ("initial", "completed", 1)
    assert (task["stopReason"], task["error"], task["toolUseCount"]) == ("end_turn", None, 1)
    assert task["gitBefore"]["dirty"] is False
    assert task["gitAfter"] == task["gitBefore"] | {"dirty": True}
    assert task["createdAt"] <= task["startedAt"] <= task["endedAt"] == task["updatedAt"]


async def test_every_change_is_announced(server: Running) -> None:
    """A3: Creating, changing and removing a record each emit an event with the record as it was then."""
    client = server.client
    async with client.events() as events:
        made = await some_of_each(client, server.repo())
        changes = {
            "repos": {"name": "Renamed"},
            "boards": {"name": "Renamed"},
            "mcp-servers": {"enabled": False},
            "sessions": {"title": "Renamed"},
        }
        changed = {
            noun: await client.call("PATCH", f"/api/{noun}/{made[noun]['id']}", json=body)
            for noun, body in changes.items()
        }
        for noun in ("sessions", "mcp-servers", "boards", "repos"):
            query = "?purge=true" if noun == "sessions" else ""
            await client.call("DELETE", f"/api/{noun}/{made[noun]['id']}{query}")
        await events.until(lambda event: event["type"] == "repo.removed")
    seen = [event for event in events.seen if event.get("cursor") is not None and "objectId" in event]
    for noun, record in changed.items():
        name = noun.removesuffix("s").replace("-", "_")
        about = [event for event in seen if event["objectId"] == record["id"]]
        kinds = [event["type"] for event in about]
        assert kinds[0] == f"{name}.created"
        assert kinds[-1] == f"{name}.removed"
        assert record in [event["data"] for event in about if event["type"] == f"{name}.patched"]
    assert {event["type"] for event in seen} <= set(EVENT_TYPES)
    assert [event["cursor"] for event in seen] == sorted({event["cursor"] for event in seen})


async def test_health_agents_and_settings(server: Running) -> None:
    """A2, L2: The server reports its version, the agents that can be started, and every setting with its variable."""
    assert await server.client.get("/api/health") == {"status": "ok", "version": __version__}
    agents = (await server.client.get("/api/agents"))["agents"]
    assert {"demo"} <= {agent["name"] for agent in agents if agent["installed"]}
    (default,) = [agent for agent in agents if agent["isDefault"]]
    assert default["installed"] is True
    (guide,) = [agent for agent in agents if agent["tour"] is not None]
    assert guide["tour"].keys() == {"session", "approval", "fork", "child", "longTurn", "sideQuestion"}
    assert all(example["name"] and example["prompt"] for agent in agents for example in agent["examples"])
    for item in agents:
        assert (item["program"] is None) == (item["how"] == "missing")
        assert item["command"]
        assert item["title"]
    settings = {setting["name"]: setting for setting in (await server.client.get("/api/settings"))["settings"]}
    assert settings.keys() == FIELDS.keys()
    used = {
        "port": urlsplit(server.url).port,
        "database": str(server.data / "bough.db"),
        "default_agent": default["name"],
        "workspace_root": str(server.root.resolve()),
    }
    for name, item in settings.items():
        assert item["variable"] == f"BOUGH_{name.upper()}"
        assert item["description"].endswith(".")
        assert item["value"] == used.get(name, getattr(server.services.settings, name)), name


@pytest.mark.postgres
async def test_settings_hide_the_database_password(tmp_path: Path, postgres_url: str) -> None:
    """L2: Settings show where the database is, without the password."""
    parts = urlsplit(postgres_url)
    secret = "password-6f1c" if parts.password is None else parts.password
    place = parts.netloc.rpartition("@")[2]
    url = urlunsplit((parts.scheme, f"{parts.username or 'postgres'}:{secret}@{place}", *parts[2:]))
    async with serving(tmp_path, database=url) as server:
        answer = await server.client.http.get("/api/settings")
        (shown,) = [setting["value"] for setting in answer.json()["settings"] if setting["name"] == "database"]
        assert shown.startswith("postgresql://")
        assert secret not in answer.text


async def test_a_bad_agent_file_does_no_harm(tmp_path: Path) -> None:
    """O1, A2: A broken agent file is logged, listed with its error and refused by name; other agents work."""
    files = tmp_path / "data" / "agents"
    files.mkdir(parents=True)
    (files / "broken.toml").write_text("command = [")
    (files / "mine.toml").write_text('title = "Mine"\ncommand = ["{python}", "-m", "bough.agents.demo"]\n')
    with capture_logs() as lines:
        async with serving(tmp_path, default_agent="broken") as server:
            agents = {agent["name"]: agent for agent in (await server.client.get("/api/agents"))["agents"]}
            assert agents["mine"]["error"] is None
            assert (agents["broken"]["installed"], agents["broken"]["isDefault"]) == (False, False)
            assert "broken.toml" in agents["broken"]["error"]
            assert agents["broken"]["origin"] == str(files / "broken.toml")
            repo = await server.client.repo(server.repo())
            asked = {"repoId": repo["id"]}
            error = refused(await server.client.http.post("/api/sessions", json=asked), 400, "bad_agent_file")
            assert "broken.toml" in error["message"]
            assert (await server.client.session(repo["id"], agent="mine"))["agent"] == "mine"
    assert [line["log_level"] for line in lines if line["event"] == "bad_agent_file"] == ["warning"]


def metric(text: str, name: str) -> float:
    match = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert match is not None, name
    return float(match[1])


async def test_metrics(tmp_path: Path) -> None:
    """A2: Metrics count sessions, tasks, approvals, agents and subscribers, and give the newest cursor, for
    Prometheus."""
    async with serving(tmp_path) as server:
        client = server.client
        repo = await client.repo(server.repo())
        waiting = await client.session(repo["id"], permissionMode="ask", initialPrompt="[[run true]]")
        await client.approval(waiting["id"])
        await client.prompt(waiting["id"], "later")
        idle = await client.session(repo["id"], initialPrompt="hello")
        await client.wait_task(idle["taskId"])
        done = await client.session(repo["id"])
        await client.post(f"/api/sessions/{done['id']}/complete")
        async with client.events() as events:
            answer = await client.http.get("/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        text = answer.text
        assert metric(text, 'bough_sessions{state="active"}') == 2
        assert metric(text, 'bough_sessions{state="completed"}') == 1
        assert metric(text, 'bough_tasks{state="queued"}') == 1
        assert metric(text, 'bough_tasks{state="waiting_permission"}') == 1
        assert metric(text, "bough_approvals_pending") == 1
        assert metric(text, 'bough_agents{state="waiting"}') == 1
        assert metric(text, "bough_subscribers") == 1
        assert metric(text, "bough_event_cursor") == events.seen[0]["cursor"]
        for line in text.splitlines():
            assert re.fullmatch(r'# (HELP|TYPE) .+|\w+(\{state="\w+"\})? [\d.e+]+', line), line


async def test_a_session_can_be_exported(server: Running) -> None:
    """A2: An export holds the session and everything that belongs to it, as JSON or Markdown."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], title="A talk", initialPrompt="[[plan a; b]][[say hello]]")
    await client.wait_task(session["taskId"])
    path = f"/api/sessions/{session['id']}"
    detail = await client.get(path)
    exported = await client.get(f"{path}/export")
    assert exported == {
        "format": "bough/1",
        "session": {name: detail[name] for name in SESSION},
        "repo": repo,
        "tasks": (await client.get(f"{path}/tasks"))["tasks"],
        "inherited": [],
        "messages": detail["messages"],
    }
    as_text = await client.http.get(f"{path}/export?format=markdown")
    assert as_text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert as_text.text.startswith("# A talk\n")
    assert "## Agent\n\nhello" in as_text.text
    refused(await client.http.get(f"{path}/export?format=pdf"), 400, "bad_request")
    assert "/api/sessions/{sessionId}/prompt" in (await client.http.get("/docs")).text


async def test_repos_boards_and_mcp_servers(server: Running) -> None:
    """A2, R1: Repos, boards and MCP servers are created, listed, changed and removed; names must be unique."""
    client = server.client
    path = server.repo("project")
    repo = await client.repo(path)
    assert await client.repo(path) == repo
    assert (await client.call("PATCH", f"/api/repos/{repo['id']}", json={"name": " New  name "}))["name"] == "New name"
    board = await client.post("/api/boards", {"name": "Second"})
    refused(await client.http.post("/api/boards", json={"name": "Second"}), 409, "name_taken")
    default = (await client.get("/api/boards"))["boards"][0]
    assert default["isDefault"] is True
    refused(await client.http.patch(f"/api/boards/{board['id']}", json={"name": default["name"]}), 409, "name_taken")
    refused(await client.http.delete(f"/api/boards/{default['id']}"), 409, "board_is_default")
    assert (await client.call("DELETE", f"/api/boards/{board['id']}"))["id"] == board["id"]
    tool: Json = {"name": "tool", "transport": "stdio", "command": "/bin/cat", "args": ["-u"], "env": {"K": "v"}}
    mcp = await client.post("/api/mcp-servers", tool)
    assert (mcp["env"], mcp["args"], mcp["enabled"]) == ({"K": "***"}, ["-u"], True)
    refused(await client.http.post("/api/mcp-servers", json=tool), 409, "name_taken")
    for wrong in (
        {"name": "Bough", "transport": "stdio", "command": "/bin/cat"},
        {"name": "x", "transport": "stdio", "command": "cat"},
        {"name": "x", "transport": "stdio"},
        {"name": "x", "transport": "http", "url": "file:///etc/passwd"},
        {"name": "x", "transport": "sse"},
        {"name": "x", "transport": "carrier pigeon"},
        {"name": " ", "transport": "http", "url": "http://127.0.0.1"},
    ):
        refused(await client.http.post("/api/mcp-servers", json=wrong), 400)
    assert (await client.call("PATCH", f"/api/mcp-servers/{mcp['id']}", json={"enabled": False}))["enabled"] is False
    await client.call("DELETE", f"/api/mcp-servers/{mcp['id']}")
    assert (await client.get("/api/mcp-servers"))["total"] == 0
    assert (await client.call("DELETE", f"/api/repos/{repo['id']}"))["id"] == repo["id"]
