"""Tests how sessions are created, completed, resumed and deleted over REST."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tests.api.error_responses import NOBODY, Json, refused
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.server import Running, serving

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


async def opened(server: Running, **fields: object) -> Json:
    repo = await server.client.repo(server.repo())
    return await server.client.session(repo["id"], **fields)


async def kinds(client: Client, session: Json) -> list[tuple[str, str]]:
    messages = await client.get(f"/api/sessions/{session['id']}/messages")
    return [(message["role"], message["content"]["type"]) for message in messages]


async def test_create(server: Running) -> None:
    """A1, seed 004: Answers 201 with the new session: a UUID, its repository, `active`, its times, and all defaults."""
    repo = await server.client.repo(server.repo())
    answer = await server.client.http.post("/api/sessions", json={"repoId": repo["id"]})
    assert answer.status_code == 201
    session = answer.json()
    assert UUID7.fullmatch(session["id"])
    assert session["repoId"] == repo["id"]
    assert (session["status"], session["activity"], session["kind"]) == ("active", "not_started", "root")
    assert ISO.fullmatch(session["createdAt"])
    assert session["createdAt"] == session["updatedAt"]
    assert session["cwd"] == repo["path"]
    assert session["rootSessionId"] == session["id"]
    assert session["parentSessionId"] is session["forkedFromSessionId"] is session["worktreeId"] is None
    assert session["createdBy"] == {"kind": "person", "id": None}
    assert session["gitState"]["branch"] == "main"
    assert len(session["gitState"]["sha"]) == 40
    assert session["messageCount"] == 0
    assert session["taskId"] is None


async def test_create_stores_every_field(server: Running) -> None:
    """L3: Every documented field is stored and returned."""
    fields = {
        "title": "A title",
        "description": "Two\nlines",
        "permissionMode": "plan",
        "model": "demo[1m]",
        "effort": "high",
        "contextFiles": ["README.md"],
        "callback": {"enabled": False, "extraInstructions": "briefly"},
    }
    session = await opened(server, **fields)
    detail = await server.client.get(f"/api/sessions/{session['id']}")
    for name in ("title", "description", "permissionMode", "model", "effort"):
        assert session[name] == detail[name] == fields[name]
    assert session["contextFiles"] == [f"{session['cwd']}/README.md"]
    assert session["callback"] == {
        "enabled": False,
        "includeLastMessage": True,
        "includeOriginalPrompt": False,
        "extraInstructions": "briefly",
    }


async def test_create_refuses_invalid_fields(server: Running) -> None:
    """A1, seed 004: An unknown repository, agent or mode is refused, and nothing is created."""
    repo = await server.client.repo(server.repo())
    http = server.client.http
    wrong: list[tuple[Json, int, str]] = [
        ({}, 400, "repo_missing"),
        ({"repoId": NOBODY}, 404, "repo_not_found"),
        ({"repoId": "x"}, 400, "bad_id"),
        ({"repoId": repo["id"], "agent": "nobody"}, 400, "unknown_agent"),
        ({"repoId": repo["id"], "agent": "../demo"}, 400, "unknown_agent"),
        ({"repoId": repo["id"], "permissionMode": "everything"}, 400, "bad_request"),
        ({"repoId": repo["id"], "title": "x" * 501}, 400, "title_too_long"),
        ({"repoId": repo["id"], "initialPrompt": " \n"}, 400, "empty_prompt"),
        ({"repoId": repo["id"], "env": {"A=B": "x"}}, 400, "bad_env"),
    ]
    for body, status, code in wrong:
        refused(await http.post("/api/sessions", json=body), status, code)
    assert (await server.client.get("/api/sessions"))["total"] == 0


async def test_list_filters_and_pages(tmp_path: Path) -> None:
    """A1, seed 004: Lists sessions newest first, 20 by default, filtered by repository and statuses, without
    messages."""
    async with serving(tmp_path, max_sessions=100) as server:
        client = server.client
        first, second = [await client.repo(server.repo(name)) for name in ("one", "two")]
        made = [await client.session((second if number % 5 == 0 else first)["id"]) for number in range(25)]
        await client.post(f"/api/sessions/{made[3]['id']}/complete")
        await client.call("DELETE", f"/api/sessions/{made[4]['id']}")
        newest = [session["id"] for session in reversed(made)]
        page = await client.get("/api/sessions")
        assert page.keys() == {"sessions", "total", "limit", "offset"}
        assert (page["total"], page["limit"], page["offset"]) == (25, 20, 0)
        assert [session["id"] for session in page["sessions"]] == newest[:20]
        assert all("messages" not in session and "repo" not in session for session in page["sessions"])
        rest = await client.get("/api/sessions?limit=20&offset=20")
        assert [session["id"] for session in rest["sessions"]] == newest[20:]
        assert (await client.get("/api/sessions?offset=1000"))["sessions"] == []
        of_two = await client.get(f"/api/sessions?repoId={second['id']}&limit=2&offset=1")
        assert [item["id"] for item in of_two["sessions"]] == [made[15]["id"], made[10]["id"]]
        assert of_two["total"] == 5
        for status, expected in (
            ("active", 23),
            ("completed", 1),
            ("completed,cancelled", 2),
            ("idle", 23),
            ("not_started,completed", 24),
            ("running", 0),
            (" cancelled , active ", 24),
            ("error", 0),
        ):
            listed = await client.get("/api/sessions", params={"status": status})
            assert listed["total"] == expected, status
        both = await client.get(f"/api/sessions?repoId={first['id']}&status=completed")
        assert [session["id"] for session in both["sessions"]] == [made[3]["id"]]
        for query in ("status=done", "status=active,done", "status=,", "limit=0", "limit=501", "offset=-1"):
            refused(await client.http.get(f"/api/sessions?{query}"), 400)


async def test_get_includes_repository_and_transcript(server: Running) -> None:
    """A1, seed 004: Returns the session with its repository and all messages in order, or 404 if it does not exist."""
    session = await opened(server, initialPrompt="[[think hm]][[plan a; b]][[say one]]")
    await server.client.wait_task(session["taskId"])
    await server.client.ask(session["id"], "two")
    detail = await server.client.get(f"/api/sessions/{session['id']}")
    assert detail["repo"] == await server.client.get(f"/api/repos/{session['repoId']}")
    messages = detail["messages"]
    assert messages == await server.client.get(f"/api/sessions/{session['id']}/messages")
    assert [message["position"] for message in messages] == list(range(1, len(messages) + 1))
    assert [message["createdAt"] for message in messages] == sorted(message["createdAt"] for message in messages)
    assert [(message["role"], message["content"]["type"]) for message in messages] == [
        ("user", "text"),
        ("agent", "thought"),
        ("system", "plan"),
        ("agent", "text"),
        ("user", "text"),
        ("agent", "text"),
    ]
    assert detail["messageCount"] == len(messages)
    assert messages[0]["content"] == {"type": "text", "text": "[[think hm]][[plan a; b]][[say one]]"}
    assert messages[3]["content"] == {"type": "text", "text": "one", "partial": False}
    assert all(message["sessionId"] == session["id"] for message in messages)
    refused(await server.client.http.get(f"/api/sessions/{NOBODY}"), 404, "session_not_found")


async def test_a_prompt_is_accepted_at_once(server: Running) -> None:
    """A1, Q2, seed 004: Answers 202 before the agent does anything, with the user's message already stored."""
    session = await opened(server)
    answer = await server.client.http.post(f"/api/sessions/{session['id']}/prompt", json={"text": "[[hang]]"})
    assert answer.status_code == 202
    assert answer.json().keys() == {"taskId"}
    assert await server.client.texts(session["id"], "user") == ["[[hang]]"]
    task = await server.client.get(f"/api/tasks/{answer.json()['taskId']}")
    assert (task["source"], task["prompt"], task["sessionId"]) == ("user", "[[hang]]", session["id"])
    assert task["endedAt"] is None


async def test_messages_since(server: Running) -> None:
    """A1, seed 004: `since` returns the messages that changed after a time, in whatever offset it is written."""
    session = await opened(server, initialPrompt="one")
    await server.client.wait_task(session["taskId"])
    path = f"/api/sessions/{session['id']}/messages"
    first = await server.client.get(path)
    last = max(item["updatedAt"] for item in first)
    assert await server.client.get(path, params={"since": last}) == []
    await server.client.ask(session["id"], "two")
    news = await server.client.get(path, params={"since": last})
    assert [item["content"]["text"] for item in news] == ["two", 'You said "two". This is user turn 2.']
    elsewhere = datetime.fromisoformat(last).astimezone(timezone(timedelta(hours=5, minutes=30)))
    for written in (elsewhere.isoformat(), last.replace("Z", "+00:00"), last[:-1]):
        assert await server.client.get(path, params={"since": written}) == news
    assert len(await server.client.get(path, params={"since": "2001-02-03"})) == 4
    for wrong in ("", "yesterday", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1e9"):
        refused(await server.client.http.get(path, params={"since": wrong}), 400, "bad_time")


async def test_messages_are_paged(server: Running) -> None:
    """L3: `limit` returns the last messages, `before` and `after` those next to a message, always in order."""
    session = await opened(server)
    for number in range(4):
        await server.client.ask(session["id"], f"[[say {number}]]")
    path = f"/api/sessions/{session['id']}/messages"
    every = await server.client.get(path)
    assert len(every) == 8
    assert await server.client.get(f"{path}?limit=3") == every[-3:]
    assert await server.client.get(f"{path}?limit=100") == every
    assert await server.client.get(f"{path}?before={every[5]['id']}&limit=2") == every[3:5]
    assert await server.client.get(f"{path}?before={every[0]['id']}") == []
    assert await server.client.get(f"{path}?after={every[5]['id']}") == every[6:]
    assert await server.client.get(f"{path}?after={every[1]['id']}&limit=2") == every[2:4]
    between = f"{path}?after={every[1]['id']}&before={every[6]['id']}"
    assert await server.client.get(between) == every[2:6]
    assert await server.client.get(f"{between}&limit=3") == every[2:5]
    assert await server.client.get(f"{path}?after={every[6]['id']}&before={every[1]['id']}") == []
    assert await server.client.get(f"/api/messages/{every[2]['id']}") == every[2]
    for query in ("limit=0", "limit=-1", "limit=10001", "before=x", "after="):
        refused(await server.client.http.get(f"{path}?{query}"), 400)


async def test_delete_cancels_a_session(server: Running) -> None:
    """T3, A1, seed 004: Deleting ends the turn and the agent, cancels queued prompts, and adds a system message."""
    client = server.client
    session = await opened(server, initialPrompt="[[slow 100 30]]")
    waiting = [await client.prompt(session["id"], text) for text in ("two", "three")]
    await client.wait_task(session["taskId"], "running")
    answer = await client.http.delete(f"/api/sessions/{session['id']}")
    assert answer.status_code == 200
    ended = answer.json()
    assert (ended["status"], ended["metadata"]["reason"]) == ("cancelled", "cancelled")
    assert ended["endedAt"] is not None
    assert session["id"] not in server.services.runner.agents
    for task in (session["taskId"], *waiting):
        assert (await client.get(f"/api/tasks/{task}"))["status"] == "cancelled"
    assert ("system", "cancelled") in await kinds(client, session)
    before = await client.get(f"/api/sessions/{session['id']}")
    again = await client.http.delete(f"/api/sessions/{session['id']}")
    assert again.status_code == 200
    assert again.json() == ended
    assert await client.get(f"/api/sessions/{session['id']}") == before
    refused(await client.http.delete(f"/api/sessions/{NOBODY}"), 404)


async def test_an_ended_session_is_resumed_only_on_request(server: Running) -> None:
    """T2: A prompt to an ended session is refused with 409 and a hint; with `resume: true` the conversation
    continues."""
    client = server.client
    session = await opened(server, initialPrompt="[[say red]]")
    await client.wait_task(session["taskId"])
    for end in (("POST", "/complete"), ("DELETE", "")):
        ended = await client.call(end[0], f"/api/sessions/{session['id']}{end[1]}")
        assert ended["status"] in ("completed", "cancelled")
        answer = await client.http.post(f"/api/sessions/{session['id']}/prompt", json={"text": "more"})
        error = refused(answer, 409, "session_ended")
        assert "resume: true" in error["message"]
        assert error["details"]["status"] == ended["status"]
        count = len(await client.get(f"/api/sessions/{session['id']}/messages"))
        assert count == (await client.get(f"/api/sessions/{session['id']}"))["messageCount"]
        task = await client.wait_task(await client.prompt(session["id"], "[[recall]]", resume=True))
        assert task["status"] == "completed"
        fresh = await client.get(f"/api/sessions/{session['id']}")
        assert (fresh["status"], fresh["endedAt"], fresh["metadata"].get("reason")) == ("active", None, None)
    assert "[[say red]]" in (await client.texts(session["id"]))[-1]


async def test_resume_reopens(server: Running) -> None:
    """T2: `POST …/resume` reopens an ended session without a prompt, and does nothing to an active one."""
    client = server.client
    session = await opened(server)
    await client.post(f"/api/sessions/{session['id']}/complete")
    for _ in range(2):
        assert (await client.post(f"/api/sessions/{session['id']}/resume"))["status"] == "active"
    assert (await client.ask(session["id"], "hello"))["status"] == "completed"


async def test_a_failed_session_cannot_be_resumed(server: Running) -> None:
    """T2, T3: A session whose agent keeps crashing ends in `error`, with details; it can only be forked."""
    client = server.client
    session = await opened(server)
    for _ in range(3):
        await client.ask(session["id"], "[[crash]]")
    assert (await client.get(f"/api/sessions/{session['id']}"))["status"] == "error"
    assert ("system", "error") in await kinds(client, session)
    for path, body in (("prompt", {"text": "x", "resume": True}), ("prompt", {"text": "x"}), ("resume", {})):
        error = refused(await client.http.post(f"/api/sessions/{session['id']}/{path}", json=body), 409)
        assert error["code"] == "session_failed"
        assert "Fork it" in error["message"]


async def test_purge_leaves_nothing(server: Running) -> None:
    """A1: `purge=true` stops the turn, removes the session with everything that belongs to it, and emits an event."""
    client = server.client
    session = await opened(server, permissionMode="ask", initialPrompt="[[run true]]")
    approval = await client.approval(session["id"])
    message = (await client.get(f"/api/sessions/{session['id']}/messages"))[0]
    refused(await client.http.delete(f"/api/repos/{session['repoId']}"), 409, "repo_in_use")
    async with client.events(session["id"]) as events:
        answer = await client.http.delete(f"/api/sessions/{session['id']}?purge=true&worktree=keep")
        assert answer.status_code == 200
        removed = await events.until(lambda event: event["type"] == "session.removed")
        assert removed["objectId"] == session["id"]
    for path in (
        f"sessions/{session['id']}",
        f"sessions/{session['id']}/messages",
        f"sessions/{session['id']}/tasks",
        f"sessions/{session['id']}/export",
        f"tasks/{session['taskId']}",
        f"approvals/{approval['id']}",
        f"messages/{message['id']}",
    ):
        refused(await client.http.get(f"/api/{path}"), 404)
    refused(await client.http.delete(f"/api/sessions/{session['id']}?purge=true"), 404)
    for query in ("purge=maybe", "purge=true&worktree=burn"):
        refused(await client.http.delete(f"/api/sessions/{session['id']}?{query}"), 400)
    assert (await client.call("DELETE", f"/api/repos/{session['repoId']}"))["id"] == session["repoId"]
    assert (server.root / "repo" / "README.md").exists()


async def test_patch_changes_only_what_is_named(server: Running) -> None:
    """A2, P2: A session's settings can be changed at any time, even after it has ended."""
    client = server.client
    session = await opened(server, title="before", description="stays")
    path = f"/api/sessions/{session['id']}"
    patched = await client.call("PATCH", path, json={"title": "after", "permissionMode": "plan", "model": "m"})
    assert (patched["title"], patched["description"]) == ("after", "stays")
    assert (patched["permissionMode"], patched["model"]) == ("plan", "m")
    assert patched["updatedAt"] > session["updatedAt"]
    assert (await client.call("PATCH", path, json={"model": None}))["model"] is None
    refused(await client.http.patch(path, json={}), 400, "nothing_to_change")
    refused(await client.http.patch(path, json={"status": "error"}), 400)
    refused(await client.http.patch(path, json={"title": None}), 400)
    await client.post(f"{path}/complete")
    assert (await client.call("PATCH", path, json={"title": "later"}))["status"] == "completed"


async def test_a_prompt_right_after_the_idle_timeout(tmp_path: Path) -> None:
    """T2, T4: A prompt that arrives just as the idle timeout ends the agent is answered by a new agent process."""
    async with serving(tmp_path, idle_timeout=0.1 / 60) as server:
        session = await opened(server, initialPrompt="[[say red]]")
        await server.client.wait_task(session["taskId"])
        for _ in range(3):
            await eventually(lambda: session["id"] not in server.services.runner.agents, pause=0.001)
            task = await server.client.wait_task(await server.client.prompt(session["id"], "[[recall]]", resume=True))
            assert (task["status"], task["error"]) == ("completed", None)
