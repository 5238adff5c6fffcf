"""Tests admission limits, and many concurrent callers."""

from __future__ import annotations

import asyncio
from pathlib import Path

from structlog.testing import capture_logs

from tests.api.error_responses import Json, refused
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
