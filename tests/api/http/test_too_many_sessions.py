"""Tests admission limits, and many concurrent callers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bough.core.sessions.requests import NewSession
from bough.core.store.sql import EVENTS, SESSIONS
from bough.errors import Busy
from bough.model.session import Caller
from tests.api.error_responses import Json, refused
from tests.support.client import Client
from tests.support.faults.database_faults import failing
from tests.support.server import Running, serving


async def test_admission(server: Running) -> None:
    """T5, seed 004: The sixth active session gets 429 with `Retry-After: 60` and an explanation, and is not created."""
    client = server.client
    repo = await client.repo(server.repo())
    sessions = [await client.session(repo["id"]) for _ in range(5)]
    new_session = {"repoId": repo["id"], "agent": "demo"}
    answer = await client.http.post("/api/sessions", json=new_session)
    error = refused(answer, 429, "too_many_sessions")
    assert answer.headers["retry-after"] == "60"
    assert error["details"] == {"limit": 5, "active": 5, "retryAfter": 60}
    for word in ("5", "limit", "Complete", "wait", "AGENT_MAX_SESSIONS"):
        assert word in error["message"]
    assert (await client.get("/api/sessions"))["total"] == 5
    ends = [("POST", "/complete"), ("DELETE", ""), ("DELETE", "?purge=true")]
    for session, (method, rest) in zip(sessions, ends, strict=False):
        with capture_logs() as lines:
            await client.call(method, f"/api/sessions/{session['id']}{rest}")
        ended = [line for line in lines if line["event"] == "session_ended"]
        assert [line["active_sessions"] for line in ended] == [4]
        assert (await client.http.post("/api/sessions", json=new_session)).status_code == 201
        refused(await client.http.post("/api/sessions", json=new_session), 429, "too_many_sessions")


async def test_an_end_is_logged_after_its_commit(server: Running) -> None:
    """T5: Sessions are counted for the log outside of the transaction that ends or resumes one: one that failed is not
    logged, and a failed count fails nothing."""
    db = server.services.store.db
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    address = f"/api/sessions/{session['id']}"
    with capture_logs() as lines:
        with failing(db, "transaction", EVENTS.take_cursors, fault="io"):
            refused(await server.client.http.post(f"{address}/complete"), 503)
        with failing(db, "read", SESSIONS.active_total, fault="io"):
            assert (await server.client.post(f"{address}/complete"))["status"] == "completed"
        assert (await server.client.post(f"{address}/resume"))["status"] == "active"
    logged = [line for line in lines if line["event"] in ("session_ended", "session_resumed")]
    assert [(line["event"], line["active_sessions"]) for line in logged] == [
        ("session_ended", None),
        ("session_resumed", 1),
    ]


async def test_room_is_made(tmp_path: Path) -> None:
    """T5: With `makeRoom`, the root that has been idle longest is completed and named; a busy one never is, and a
    repeat of the request ends no other."""
    async with serving(tmp_path, max_sessions=3) as server:
        client = server.client
        repo = await client.repo(server.repo())
        busy = await client.session(repo["id"], title="busy", initialPrompt="[[hang]]")
        oldest = await client.session(repo["id"], title="oldest")
        parent = await client.session(repo["id"], title="parent")
        # Its own turn makes it the one that was active last.
        await client.ask(parent["id"], "hello")
        new_session = {"repoId": repo["id"], "agent": "demo", "makeRoom": True, "idempotencyKey": "once"}
        created = await client.post("/api/sessions", new_session)
        assert created["madeRoom"] == {
            "id": oldest["id"],
            "title": "oldest",
            "agent": "demo",
            "idleSince": oldest["createdAt"],
        }
        assert await client.post("/api/sessions", new_session) == created
        ended = await client.get(f"/api/sessions/{oldest['id']}")
        assert (ended["status"], ended["metadata"]["reason"]) == ("completed", "made_room")
        assert (await client.get("/api/sessions?status=active"))["total"] == 3
        entries = (await client.get("/api/audit?action=session.completed"))["entries"]
        assert [(entry["sessionId"], entry["details"]) for entry in entries] == [
            (oldest["id"], {"reason": "made_room"})
        ]

        second = await client.post("/api/sessions", {**new_session, "idempotencyKey": "twice"})
        assert second["madeRoom"]["id"] == parent["id"]
        # It is resumed as before, and room is made for it only on request.
        error = refused(await client.http.post(f"/api/sessions/{oldest['id']}/resume", json={}), 429)
        assert "makeRoom: true" in error["message"]
        await client.post(f"/api/sessions/{created['id']}/complete")
        assert (await client.post(f"/api/sessions/{oldest['id']}/resume"))["status"] == "active"
        assert (await client.get(f"/api/sessions/{busy['id']}"))["status"] == "active"


# A request that resumes an ended session, with the fields of its body.
REOPENING: dict[str, Json] = {
    "/api/sessions/{session}/resume": {},
    "/api/sessions/{session}/prompt": {"text": "[[say hi]]", "resume": True},
    "/api/tasks/{task}/retry": {},
    "/api/reviews/session/{session}/send": {"resume": True},
}


async def commented(client: Client, repo_id: str) -> tuple[Json, Json]:
    """Returns a session whose last turn failed after a message with a draft of a comment, and that turn's task."""
    session = await client.session(repo_id)
    task = await client.ask(session["id"], "[[say a]] [[fail no]]")
    assert task["status"] == "failed"
    messages = await client.get(f"/api/sessions/{session['id']}/messages")
    text = next(item["id"] for item in messages if item["role"] == "agent" and item["content"]["type"] == "text")
    await client.post(f"/api/reviews/session/{session['id']}/comments", {"messageId": text, "body": "No."})
    return session, task


@pytest.mark.parametrize("address", REOPENING)
async def test_room_is_made_for_a_resumed_session(tmp_path: Path, address: str) -> None:
    """T5, T2: Resuming with `makeRoom`, with a prompt, a repeated one, a review or without, completes the root that has
    been idle longest and ends its agent; a repeat of the request ends no other."""
    async with serving(tmp_path, max_sessions=2) as server:
        client = server.client
        repo = await client.repo(server.repo())
        ended, failed = await commented(client, repo["id"])
        await client.post(f"/api/sessions/{ended['id']}/complete")
        idle = await client.session(repo["id"], title="idle")
        await client.ask(idle["id"], "hello")
        busy = await client.session(repo["id"], initialPrompt="[[hang]]")
        url, fields = address.format(session=ended["id"], task=failed["id"]), REOPENING[address]
        refusal = refused(await client.http.post(url, json=fields), 429, "too_many_sessions")
        assert "makeRoom: true" in refusal["message"]
        body = fields | {"makeRoom": True, "idempotencyKey": "once"}
        expect = 200 if url.endswith("/resume") else 202
        answer = await client.post(url, body, expect=expect)
        assert (answer["madeRoom"]["id"], answer["madeRoom"]["title"]) == (idle["id"], "idle")
        assert await client.post(url, body, expect=expect) == answer
        made = await client.get(f"/api/sessions/{idle['id']}")
        assert (made["status"], made["metadata"]["reason"]) == ("completed", "made_room")
        assert server.services.runner.agents.get(idle["id"]) is None
        states = [(await client.get(f"/api/sessions/{item['id']}"))["status"] for item in (ended, busy)]
        assert states == ["active", "active"]
        tasks = (await client.get(f"/api/sessions/{ended['id']}/tasks"))["tasks"]
        statuses = [(await client.wait_task(task["id"]))["status"] for task in tasks[1:]]
        assert statuses == {"resume": [], "retry": ["failed"]}.get(url.rpartition("/")[2], ["completed"])
        # An active session needs no room.
        again = await client.http.post(url, json=body | {"idempotencyKey": "twice"})
        assert again.json().get("madeRoom") is None
        entries = (await client.get("/api/audit?action=session.completed"))["entries"]
        assert (idle["id"], {"reason": "made_room"}) in [(entry["sessionId"], entry["details"]) for entry in entries]


async def test_a_session_that_cannot_be_resumed_makes_no_room(tmp_path: Path) -> None:
    """T5, T2: A refused resume completes nothing, whether the session is gone for good or every other one is busy."""
    async with serving(tmp_path, max_sessions=1) as server:
        client = server.client
        repo = await client.repo(server.repo())
        ended, failed = await commented(client, repo["id"])
        await client.post(f"/api/sessions/{ended['id']}/complete")
        other = await client.session(repo["id"], initialPrompt="[[hang]]")
        for address, body in REOPENING.items():
            url = address.format(session=ended["id"], task=failed["id"])
            answer = await client.http.post(url, json=body | {"makeRoom": True})
            assert "none of them idle" in refused(answer, 429, "too_many_sessions")["message"]
        # Without `resume`, an ended session takes no prompt at all.
        body = {"text": "hello", "makeRoom": True}
        refused(await client.http.post(f"/api/sessions/{ended['id']}/prompt", json=body), 409, "session_ended")
        assert (await client.get(f"/api/sessions/{other['id']}"))["status"] == "active"


async def test_no_room_among_busy_sessions(tmp_path: Path) -> None:
    """T5: `makeRoom` is refused while every root, or something below it, is busy; nothing is ended or created then."""
    async with serving(tmp_path, max_sessions=1) as server:
        client = server.client
        repo = await client.repo(server.repo())
        root = await client.session(repo["id"])
        child = await client.post(f"/api/sessions/{root['id']}/spawn", {"prompt": "[[hang]]"})
        new_session = {"repoId": repo["id"], "agent": "demo", "makeRoom": True}
        for more in ({}, {"worktree": {"branch": "side"}}):
            error = refused(await client.http.post("/api/sessions", json=new_session | more), 429, "too_many_sessions")
            assert "none of them idle" in error["message"]
        assert (await client.get("/api/worktrees"))["total"] == 0
        assert (await client.get(f"/api/sessions/{root['id']}"))["status"] == "active"
        # The report of the child is a turn of the root.
        await client.post(f"/api/sessions/{child['sessionId']}/stop")

        async def admitted() -> Json | None:
            answer = await client.http.post("/api/sessions", json=new_session | {"worktree": {"branch": "side"}})
            return answer.json() if answer.status_code == 201 else None

        created = await client.eventually(admitted, "an idle root")
        assert created["madeRoom"]["id"] == root["id"]


async def test_an_agent_makes_no_room(tmp_path: Path) -> None:
    """T5, 5e: A session cannot end others by asking for room."""
    async with serving(tmp_path, max_sessions=2) as server:
        client = server.client
        repo = await client.repo(server.repo())
        session = await client.session(repo["id"])
        await client.session(repo["id"], title="idle")
        new = NewSession(repo_id=repo["id"], agent="demo", make_room=True)
        with pytest.raises(Busy) as refusal:
            await server.services.worktree_sessions.create(Caller(kind="session", id=session["id"]), new)
        assert "makeRoom" not in refusal.value.message
        assert (await client.get("/api/sessions?status=active"))["total"] == 2


async def test_a_report_reopens_a_session_that_made_room(tmp_path: Path) -> None:
    """T5, Q3: A parent that was completed to make room takes its child's report, as after the idle timeout."""
    async with serving(tmp_path, max_sessions=1) as server:
        client = server.client
        repo = await client.repo(server.repo())
        root = await client.session(repo["id"])
        child = await client.post(f"/api/sessions/{root['id']}/spawn", {"prompt": "[[say one]]"})
        await client.wait_task(child["taskId"])

        async def admitted() -> Json | None:
            answer = await client.http.post(
                "/api/sessions", json={"repoId": repo["id"], "agent": "demo", "makeRoom": True}
            )
            return answer.json() if answer.status_code == 201 else None

        created = await client.eventually(admitted, "an idle root")
        assert created["madeRoom"]["id"] == root["id"]
        await client.ask(child["sessionId"], "[[say two]]")

        async def reopened() -> bool | None:
            return (await client.get(f"/api/sessions/{root['id']}"))["status"] == "active" or None

        await client.eventually(reopened, "the parent's report")


async def test_resuming_counts_against_the_limit(tmp_path: Path) -> None:
    """T5, T2: An ended session counts again when it is resumed, and is refused while the limit is reached."""
    async with serving(tmp_path, max_sessions=1) as server:
        client = server.client
        repo = await client.repo(server.repo())
        first = await client.session(repo["id"])
        await client.post(f"/api/sessions/{first['id']}/complete")
        second = await client.session(repo["id"])
        for path, body in (("resume", {}), ("prompt", {"text": "hello", "resume": True})):
            answer = await client.http.post(f"/api/sessions/{first['id']}/{path}", json=body)
            refused(answer, 429, "too_many_sessions")
            assert answer.headers["retry-after"] == "60"
        assert (await client.get(f"/api/sessions/{first['id']}"))["status"] == "completed"
        assert (await client.get("/api/tasks"))["total"] == 0
        await client.post(f"/api/sessions/{second['id']}/complete")
        assert (await client.post(f"/api/sessions/{first['id']}/resume"))["status"] == "active"


async def test_the_limit_holds_under_a_rush(server: Running) -> None:
    """T5: Of 20 simultaneous requests exactly five are accepted; the others get the same refusal as a single one."""
    repo = await server.client.repo(server.repo())
    new_session = {"repoId": repo["id"], "agent": "demo"}
    answers = await asyncio.gather(*(server.client.http.post("/api/sessions", json=new_session) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [429] * 15
    assert (await server.client.get("/api/sessions?status=active"))["total"] == 5


async def test_many_callers_at_once(tmp_path: Path) -> None:
    """T5: 20 sessions created at once and then 20 prompts at once all succeed, without a lock error."""
    async with serving(tmp_path, max_sessions=20) as server:
        client = server.client
        repo = await client.repo(server.repo())
        created: list[Json] = await asyncio.gather(*(client.session(repo["id"]) for _ in range(20)))
        assert len({session["id"] for session in created}) == 20
        first_id = created[0]["id"]
        tasks = await asyncio.gather(*(client.prompt(first_id, f"[[say {number}]]") for number in range(20)))
        others = await asyncio.gather(*(client.prompt(session["id"], "hello") for session in created[1:4]))
        for task in (*tasks, *others):
            assert (await client.wait_task(task))["status"] == "completed"
        assert sorted(await client.texts(first_id), key=int) == [str(number) for number in range(20)]


async def test_readers_and_writers_do_not_wait_for_each_other(server: Running) -> None:
    """T5: Simultaneous lists, single reads and changes all succeed."""
    client = server.client
    board = (await client.get("/api/boards"))["boards"][0]
    path = f"/api/boards/{board['id']}"
    calls = [client.http.patch(path, json={"name": f"name {number}"}) for number in range(40)]
    calls += [client.http.get(where) for where in (path, "/api/boards", "/metrics", "/api/health") for _ in range(15)]
    answers = await asyncio.gather(*calls)
    assert {answer.status_code for answer in answers} == {200}
