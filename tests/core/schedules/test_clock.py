"""Tests that a running server starts what is due by itself."""

from __future__ import annotations

from datetime import timedelta

from bough.model.values.times import now, parse, written
from tests.core.helpers import open_session
from tests.support.eventually import eventually
from tests.support.server import Running


async def test_the_clock_of_a_server_starts_what_is_due(server: Running) -> None:
    """J1: A running server sends a prompt at its time without being asked."""
    session_id = await open_session(server)
    at = written(parse(now()) + timedelta(seconds=1))
    body = {"prompt": "[[say done]]", "at": at, "sessionId": session_id}
    schedule = await server.client.post("/api/schedules", body)

    async def started() -> bool:
        history = (await server.client.get(f"/api/schedules/{schedule['id']}/runs"))["runs"]
        return [run["status"] for run in history] == ["started"]

    await eventually(started)
    (task,) = (await server.client.get(f"/api/sessions/{session_id}/tasks"))["tasks"]
    assert (task["prompt"], task["source"]) == ("[[say done]]", "schedule")
