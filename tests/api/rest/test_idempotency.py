"""Tests that a POST repeated with the same idempotency key acts once and gets the same answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.api.error_responses import Json, refused
from tests.support.server import Running, serving


def header(key: str) -> Json:
    return {"headers": {"Idempotency-Key": key}}


async def test_header_and_body_are_the_same_key(server: Running) -> None:
    """A4: A key in the header and a key in the body mean the same, and the answer is byte for byte the same."""
    repo = await server.client.repo(server.repo())
    asked = {"repoId": repo["id"], "agent": "demo", "initialPrompt": "hello"}
    http = server.client.http
    first = await http.post("/api/sessions", json={**asked, "idempotencyKey": "one"})
    await server.client.wait_task(first.json()["taskId"])
    second = await http.post("/api/sessions", json={**asked, "idempotencyKey": "one"})
    third = await http.post("/api/sessions", json=asked, **header("one"))
    assert [answer.status_code for answer in (first, second, third)] == [201, 201, 201]
    assert first.content == second.content == third.content
    assert (await server.client.get("/api/sessions"))["total"] == 1
    assert (await server.client.get("/api/tasks"))["total"] == 1
    other = await http.post("/api/sessions", json=asked, **header("two"))
    assert other.json()["id"] != first.json()["id"]


async def test_concurrent_requests_with_the_same_key(server: Running) -> None:
    """A4: Concurrent requests with one key create one session, one task, and get one answer."""
    client = server.client
    repo = await client.repo(server.repo())
    asked = {"repoId": repo["id"], "agent": "demo"}
    answers = await asyncio.gather(*(client.http.post("/api/sessions", json=asked, **header("k")) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    session = answers[0].json()["id"]
    prompts = await asyncio.gather(*(client.prompt(session, "hello", idempotencyKey="p") for _ in range(10)))
    assert len(set(prompts)) == 1
    assert (await client.get(f"/api/sessions/{session}/tasks"))["total"] == 1
    assert await client.texts(session, "user") == ["hello"]


async def test_a_key_belongs_to_one_request(server: Running) -> None:
    """A4: A different body under a used key is a conflict and changes nothing; another route or record may reuse the
    key."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], idempotencyKey="k")
    asked = {"repoId": repo["id"], "agent": "demo", "title": "other", "idempotencyKey": "k"}
    error = refused(await client.http.post("/api/sessions", json=asked), 409, "idempotency_key_reused")
    assert "'k'" in error["message"]
    await client.prompt(session["id"], "hello", idempotencyKey="k")
    again = await client.http.post(f"/api/sessions/{session['id']}/prompt", json={"text": "bye"}, **header("k"))
    refused(again, 409, "idempotency_key_reused")
    other = await client.session(repo["id"])
    await client.prompt(other["id"], "hello", idempotencyKey="k")
    assert (await client.get("/api/sessions"))["total"] == 2
    assert (await client.get("/api/tasks"))["total"] == 2


async def test_short_and_full_ids_are_the_same_request(server: Running) -> None:
    """A4, R5: A key belongs to a route and a record, however the record's id is written."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], permissionMode="ask")
    whole = session["id"]
    spelled = [whole, whole[-8:], whole[:8], whole.upper(), whole.replace("-", "")]

    async def alike(route: str, body: Json) -> Any:
        answers = [
            await client.http.post(f"/api/sessions/{item}/{route}", json=body, **header("same")) for item in spelled
        ]
        assert len({answer.content for answer in answers}) == 1, [answer.text for answer in answers]
        assert answers[0].status_code < 300
        return answers[0].json()

    task = (await alike("prompt", {"text": "[[run true]]"}))["taskId"]
    assert (await client.get(f"/api/sessions/{whole}/tasks"))["total"] == 1
    approval = (await client.approval(whole))["id"]
    for item in (approval, approval[-8:]):
        await client.post(f"/api/approvals/{item}", {"decision": "deny", "idempotencyKey": "same"})
    await client.wait_task(task)
    await alike("stop", {})
    await alike("resume", {})
    await alike("archive", {"archived": True})
    assert (await client.get(f"/api/sessions/{whole}"))["archived"] is True


async def test_one_request_has_one_key(server: Running) -> None:
    """A4: Different keys in the header and the body are refused; the same key in both counts once."""
    body = {"name": "board", "idempotencyKey": "one"}
    error = refused(
        await server.client.http.post("/api/boards", json=body, **header("two")), 400, "bad_idempotency_key"
    )
    assert "header" in error["message"]
    assert (await server.client.get("/api/boards"))["total"] == 1
    assert (await server.client.http.post("/api/boards", json=body, **header("one"))).status_code == 201


async def test_a_refusal_does_not_use_up_the_key(server: Running) -> None:
    """A4: A refused request can be retried with the same key."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"])
    await client.post(f"/api/sessions/{session['id']}/complete")
    asked = {"text": "hello", "idempotencyKey": "k"}
    refused(await client.http.post(f"/api/sessions/{session['id']}/prompt", json=asked), 409, "session_ended")
    await client.post(f"/api/sessions/{session['id']}/resume")
    await client.wait_task(await client.prompt(session["id"], **asked))


async def test_keys_survive_a_restart(tmp_path: Path) -> None:
    """A4: A client that missed its answer gets it from the restarted server."""
    asked: Json = {"agent": "demo", "initialPrompt": "hello", "idempotencyKey": "k"}
    async with serving(tmp_path) as server:
        asked["repoId"] = (await server.client.repo(server.repo()))["id"]
        first = await server.client.http.post("/api/sessions", json=asked)
        await server.client.wait_task(first.json()["taskId"])
    async with serving(tmp_path) as server:
        again = await server.client.http.post("/api/sessions", json=asked)
        assert (again.status_code, again.content) == (201, first.content)
        refused(await server.client.http.post("/api/sessions", json={**asked, "title": "x"}), 409)
        assert (await server.client.get("/api/tasks"))["total"] == 1


async def test_a_retry_is_not_subject_to_limits(tmp_path: Path) -> None:
    """A4, T5: A retry of an accepted request is answered even where a new request would be refused."""
    async with serving(tmp_path, max_sessions=1, max_queue=1) as server:
        client = server.client
        repo = await client.repo(server.repo())
        session = await client.session(repo["id"], idempotencyKey="k")
        assert await client.session(repo["id"], idempotencyKey="k") == session
        await client.call("PATCH", f"/api/sessions/{session['id']}", json={"queuePaused": True})
        task = await client.prompt(session["id"], "[[hang]]", idempotencyKey="p")
        await client.wait_task(task, "running")
        waiting = await client.prompt(session["id"], "two", idempotencyKey="q")
        assert await client.prompt(session["id"], "two", idempotencyKey="q") == waiting


async def test_every_post_supports_keys(server: Running) -> None:
    """A4: Repos, boards, MCP servers, archive, resume, complete, stop and approvals each act once per key."""
    client = server.client

    async def twice(path: str, body: Json) -> Any:
        first = await client.http.post(path, json=body, **header("k"))
        second = await client.http.post(path, json={**body, "idempotencyKey": "k"})
        assert first.status_code < 300, first.text
        assert (first.status_code, first.content) == (second.status_code, second.content)
        return first.json()

    repo = await twice("/api/repos", {"path": str(server.repo())})
    await twice("/api/boards", {"name": "one"})
    tools = await twice("/api/mcp-servers", {"name": "one", "transport": "http", "url": "http://127.0.0.1:1"})
    await twice(f"/api/mcp-servers/{tools['id']}/test", {})
    session = await twice("/api/sessions", {"repoId": repo["id"], "agent": "demo", "permissionMode": "ask"})
    mine = f"/api/sessions/{session['id']}"
    await twice(f"{mine}/prompt", {"text": "[[run true]]"})
    approval = await client.approval(session["id"])
    await twice(f"/api/approvals/{approval['id']}", {"decision": "deny"})
    refused(await client.http.post(f"/api/approvals/{approval['id']}", json={"decision": "allow"}, **header("k")), 409)
    await client.wait_task(approval["taskId"])
    await twice(f"{mine}/archive", {"archived": True})
    refused(await client.http.post(f"{mine}/archive", json={"archived": False}, **header("k")), 409)
    await twice(f"{mine}/complete", {})
    await twice(f"{mine}/resume", {})
    await twice(f"{mine}/stop", {})


async def test_a_repeated_stop_does_not_stop_the_next_turn(server: Running) -> None:
    """A4, T6: A repeated stop returns the first answer and does not stop the turn that is running by then."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], initialPrompt="[[slow 100 30]]")
    mine = f"/api/sessions/{session['id']}"
    await client.wait_task(session["taskId"], "running")
    first = await client.http.post(f"{mine}/stop", **header("k"))
    assert first.json()["task"]["id"] == session["taskId"]
    assert first.json()["task"]["status"] == "cancelled"
    task = await client.prompt(session["id"], "[[slow 4 0.4]]")
    await client.wait_task(task, "running")
    again = await client.http.post(f"{mine}/stop", **header("k"))
    assert again.content == first.content
    assert (await client.wait_task(task))["status"] == "completed"
    refused(await client.http.post(f"{mine}/stop", json={"expectedTaskId": task}, **header("k")), 409)


async def test_a_repeated_cancel_of_a_task(server: Running) -> None:
    """A4, Q5: A repeated cancel returns the first answer, for a queued and for a running task, and leaves the next turn
    running. Without the key it is refused, because nothing is left to cancel."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], initialPrompt="[[slow 100 30]]")
    running = session["taskId"]
    await client.wait_task(running, "running")
    waiting = await client.prompt(session["id"], "[[say never]]")

    async def cancel(task: str) -> bytes:
        answer = await client.http.delete(f"/api/tasks/{task}", **header("k"))
        assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
        return answer.content

    async def cancel_again(task: str, first: bytes) -> None:
        again = await client.http.delete(f"/api/tasks/{task[-12:]}", **header("k"))
        assert (again.status_code, again.content) == (200, first)
        refused(await client.http.delete(f"/api/tasks/{task}"), 409, "task_not_queued")

    await cancel_again(waiting, await cancel(waiting))
    first = await cancel(running)
    after = await client.prompt(session["id"], "[[slow 4 0.4]]")
    await client.wait_task(after, "running")
    await cancel_again(running, first)
    assert (await client.wait_task(after))["status"] == "completed"


async def test_a_repeated_complete_does_not_end_a_resumed_session(server: Running) -> None:
    """A4, T2: A repeated complete returns the first answer and does not end a session that was resumed since."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], initialPrompt="[[say hello]]")
    await client.wait_task(session["taskId"])
    mine = f"/api/sessions/{session['id']}"
    first = await client.http.post(f"{mine}/complete", json={"force": True}, **header("k"))
    task = await client.prompt(session["id"], "[[slow 4 0.4]]", resume=True)
    await client.wait_task(task, "running")
    again = await client.http.post(f"{mine}/complete", json={"force": True}, **header("k"))
    assert (again.status_code, again.content) == (200, first.content)
    done = await client.wait_task(task)
    assert (done["status"], done["attempt"]) == ("completed", 1)
    assert (await client.get(mine))["status"] == "active"


async def test_invalid_keys_are_refused(server: Running) -> None:
    """A4: Refuses empty, overlong and malformed keys before anything happens."""
    for key in ("", "x" * 201, "a\0b"):
        asked = {"name": "board", "idempotencyKey": key}
        refused(await server.client.http.post("/api/boards", json=asked), 400, "bad_idempotency_key")
    for key in ("x" * 201, ""):
        refused(
            await server.client.http.post("/api/boards", json={"name": "board"}, **header(key)),
            400,
            "bad_idempotency_key",
        )
    refused(await server.client.http.post("/api/boards", json={"name": "board", "idempotencyKey": 1}), 400)
    assert (await server.client.get("/api/boards"))["total"] == 1
    for key in ("x" * 200, "🌱" * 200, "'; DROP TABLE idempotency; --", " "):
        body = {"name": key[:20] + "n", "idempotencyKey": key}
        made = await server.client.post("/api/boards", body)
        assert await server.client.post("/api/boards", body) == made
