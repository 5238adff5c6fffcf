"""Tests sessions whose agent needs a login: the queue waits for it instead of failing prompt after prompt."""

from __future__ import annotations

from pathlib import Path

from tests.core.helpers import messages, misbehaving, open_session
from tests.support.server import serving


async def test_the_queue_waits_for_a_login(tmp_path: Path) -> None:
    """Q5: A missing login fails the prompt that met it; those behind it wait, the reason is shown, and after the login
    they run."""
    misbehaving(tmp_path, "logged_out")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="logged_out")
        path = f"/api/sessions/{session}"
        folder = Path((await client.get(path))["cwd"])
        tasks = [await client.prompt(session, text) for text in ("wait", "two", "three")]
        (folder / "go").write_text("")
        first = await client.wait_task(tasks[0])
        assert (first["status"], first["error"]["code"]) == ("failed", "agent_login")
        [error] = await messages(client, session, "error")
        assert error["text"].endswith("The queue behind it is paused until the next prompt or a resume.")
        shown = await client.get(path)
        assert shown["queuePaused"] is True
        assert shown["metadata"]["pauseReason"].startswith("logged_out is not logged in")
        assert [(await client.get(f"/api/tasks/{task}"))["status"] for task in tasks[1:]] == ["queued", "queued"]
        (folder / "key").write_text("")
        resumed = await client.post(f"{path}/resume")
        assert resumed["queuePaused"] is False and "pauseReason" not in resumed["metadata"]
        assert [(await client.wait_task(task))["status"] for task in tasks[1:]] == ["completed", "completed"]


async def test_a_pause_by_a_person_has_no_reason(tmp_path: Path) -> None:
    """Q5: Only a pause that Bough decided has a reason; a person's own pause replaces it."""
    misbehaving(tmp_path, "logged_out")
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="logged_out")
        path = f"/api/sessions/{session}"
        await server.client.wait_task(await server.client.prompt(session, "one"))
        assert "pauseReason" in (await server.client.get(path))["metadata"]
        paused = await server.client.call("PATCH", path, json={"queuePaused": True})
        assert "pauseReason" not in paused["metadata"]
