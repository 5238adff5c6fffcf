"""Tests that archived sessions are hidden and idle, and can be unarchived."""

from __future__ import annotations

from pathlib import Path

from tests.api.error_responses import Json, refused
from tests.support.server import Running, serving


async def opened(server: Running, **fields: object) -> Json:
    repo = await server.client.repo(server.repo())
    return await server.client.session(repo["id"], **fields)


async def test_archive(server: Running) -> None:
    """A2: An archived session can be left out of lists and unarchived; a running session cannot be archived."""
    client = server.client
    session = await opened(server, initialPrompt="[[slow 50 20]]")
    path = f"/api/sessions/{session['id']}"
    await client.wait_task(session["taskId"], "running")
    refused(await client.http.post(f"{path}/archive"), 409, "session_busy")
    await client.post(f"{path}/stop")
    assert (await client.http.post(f"{path}/archive")).json()["archived"] is True
    assert (await client.get("/api/sessions?archived=false"))["total"] == 0
    assert (await client.get("/api/sessions?archived=true"))["total"] == 1
    assert (await client.get("/api/sessions"))["total"] == 1
    assert (await client.post(f"{path}/archive", {"archived": False}))["archived"] is False


async def test_archiving_completes_a_session(tmp_path: Path) -> None:
    """A2, T5: Archiving completes a session, ends its agent and frees its slot; it is refused while prompts are
    queued."""
    async with serving(tmp_path, max_sessions=1) as server:
        client = server.client
        session = await opened(server, initialPrompt="[[say red]]")
        await client.wait_task(session["taskId"])
        path = f"/api/sessions/{session['id']}"
        running = await client.prompt(session["id"], "[[slow 100 30]]")
        await client.wait_task(running, "running")
        await client.prompt(session["id"], "[[say blue]]")
        await client.post(f"{path}/stop")
        error = refused(await client.http.post(f"{path}/archive"), 409, "session_busy")
        assert error["details"]["queued"] == 1
        assert (await client.get(path))["status"] == "active"
        await client.call("DELETE", f"/api/tasks/{(await client.get(f'{path}/tasks?status=queued'))['tasks'][0]['id']}")
        archived = await client.post(f"{path}/archive")
        assert (archived["archived"], archived["status"]) == (True, "completed")
        assert archived["metadata"]["reason"] == "archived"
        assert session["id"] not in server.services.runner.agents
        other = await client.session(session["repoId"])
        refused(await client.http.post(f"{path}/prompt", json={"text": "hello"}), 409, "session_ended")
        refused(await client.http.post(f"{path}/prompt", json={"text": "hello", "resume": True}), 429)
        await client.post(f"/api/sessions/{other['id']}/archive")
        task = await client.prompt(session["id"], "[[recall]]", resume=True)
        assert (await client.wait_task(task))["status"] == "completed"
        fresh = await client.get(path)
        assert (fresh["archived"], fresh["status"]) == (False, "active")
