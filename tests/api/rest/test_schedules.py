"""Tests schedules over REST: added, listed, changed, paused, run, removed, and refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.error_responses import NOBODY, Json, refused
from tests.core.helpers import open_session
from tests.support.people import as_user
from tests.support.server import Running

PATH = "/api/schedules"
DAILY: Json = {"prompt": "[[say done]]", "cron": "0 6 * * *"}


async def add(server: Running, session_id: str, **fields: Any) -> Json:
    return await server.client.post(PATH, {**DAILY, "sessionId": session_id, **fields})


async def test_a_schedule_is_the_same_everywhere(server: Running) -> None:
    """J1, A2, A3: A schedule has its times in words and the next of them, and is the same in answers, lists and
    events; a repeated key adds one."""
    session_id = await open_session(server)
    async with server.client.events() as events:
        schedule = await add(server, session_id, timezone="Europe/Berlin", idempotencyKey="k")
        created = await events.until(lambda event: event["type"] == "schedule.created")
    assert created["data"] == schedule
    assert (schedule["title"], schedule["times"]) == ("[[say done]]", "At 06:00 every day (Europe/Berlin)")
    assert (schedule["missed"], schedule["overlap"], schedule["paused"]) == ("run", "skip", False)
    assert schedule["upcoming"][0] == schedule["nextAt"] and len(schedule["upcoming"]) == 3
    assert await add(server, session_id, timezone="Europe/Berlin", idempotencyKey="k") == schedule
    assert await server.client.get(f"{PATH}/{schedule['id'][-8:]}") == schedule
    assert await server.client.get(PATH) == {"schedules": [schedule], "total": 1, "limit": 20, "offset": 0}
    assert (await server.client.get(f"{PATH}?sessionId={await open_session(server)}"))["total"] == 0


async def test_a_schedule_is_changed_paused_and_removed(server: Running) -> None:
    """J1, A2: New times replace the next one; a paused schedule has none in force; a removed one is gone."""
    client = server.client
    schedule = await add(server, await open_session(server))
    path = f"{PATH}/{schedule['id']}"
    changed = await client.call("PATCH", path, json={"cron": "30 7 * * 1", "title": "Weekly", "overlap": "run"})
    assert (changed["title"], changed["times"]) == ("Weekly", "At 07:30 on Monday (UTC)")
    assert changed["nextAt"][11:16] == "07:30"
    once = await client.call("PATCH", path, json={"at": "2999-01-01T00:00:00Z"})
    assert (once["cron"], once["nextAt"], once["times"]) == (None, "2999-01-01T00:00:00.000000Z", "Once")
    assert (await client.call("PATCH", path, json={"paused": True}))["paused"]
    assert not (await client.call("PATCH", path, json={"paused": False}))["paused"]
    assert (await client.call("DELETE", path))["id"] == schedule["id"]
    refused(await client.http.get(path), 404, "schedule_not_found")
    actions = [entry["action"] for entry in (await client.get("/api/audit"))["entries"]]
    assert {"schedule.added", "schedule.changed", "schedule.removed"} <= set(actions)


async def test_a_run_is_asked_for_once_per_key(server: Running) -> None:
    """J1, A4: A person starts a run, also of a paused schedule; a repeated key starts one."""
    session_id = await open_session(server)
    schedule = await add(server, session_id, paused=True)
    run = await server.client.post(f"{PATH}/{schedule['id']}/run", {"idempotencyKey": "now"})
    again = await server.client.post(f"{PATH}/{schedule['id']}/run", {"idempotencyKey": "now"})
    assert (run["status"], run["sessionId"], run["trigger"]) == ("started", session_id, "person") and again == run
    task = await server.client.wait_task(run["taskId"])
    assert (task["source"], task["status"]) == ("schedule", "completed")
    history = await server.client.get(f"{PATH}/{schedule['id']}/runs")
    assert (history["total"], history["runs"]) == (1, [run])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cron": "0 6 * *"}, "bad_cron"),
        ({"at": "2999-01-01T00:00:00Z"}, "bad_schedule"),
        ({"cron": None}, "bad_schedule"),
        ({"cron": None, "at": "2001-01-01T00:00:00Z"}, "time_passed"),
        ({"timezone": "../etc/passwd"}, "bad_timezone"),
        ({"prompt": " "}, "empty_prompt"),
        ({"session": {"repoId": NOBODY}}, "bad_schedule"),
        ({"sessionId": NOBODY}, "session_not_found"),
        ({"sessionId": None}, "bad_schedule"),
        ({"sessionId": None, "session": {"repoId": NOBODY}}, "repo_not_found"),
        ({"sessionId": None, "session": {}}, "repo_missing"),
        ({"sessionId": None, "session": {"repoId": NOBODY, "env": {"A": "b"}}}, "bad_schedule"),
        ({"sessionId": None, "session": {"repoId": NOBODY, "initialPrompt": "x"}}, "bad_schedule"),
        ({"sessionId": None, "session": {"repoId": NOBODY, "agent": "nobody"}}, "unknown_agent"),
    ],
)
async def test_a_bad_schedule_is_refused(server: Running, fields: Json, code: str) -> None:
    """J1, A4: Whatever cannot run is refused when it is added, with a code and a sentence."""
    session_id = await open_session(server)
    body = {**DAILY, "sessionId": session_id, **fields}
    answer = await server.client.http.post(PATH, json=body)
    refused(answer, 404 if code.endswith("_not_found") else 400, code)
    assert (await server.client.get(PATH))["total"] == 0


async def test_secret_values_of_the_session_are_masked(server: Running) -> None:
    """J1, R1: A schedule's prompt is shown without the secret values of its session, and sent with them."""
    session_id = await open_session(server, env={"KEY": "hunter2-secret"})
    schedule = await add(server, session_id, prompt="[[recall]] hunter2-secret")
    assert "hunter2" not in str(await server.client.get(PATH)) + str(schedule)


async def test_who_changes_what_a_schedule_does_answers_for_it(server: Running) -> None:
    """J5: A viewer only reads schedules; an operator who changes the prompt becomes the author."""
    schedule = await add(server, await open_session(server))
    path = f"{PATH}/{schedule['id']}"
    async with as_user(server, "vera", "viewer") as viewer:
        assert (await viewer.client.get(PATH))["total"] == 1
        refused(await viewer.client.http.patch(path, json={"paused": True}), 403, "role_too_low")
        refused(await viewer.client.http.post(f"{path}/run", json={}), 403, "role_too_low")
    async with as_user(server, "olga", "operator") as operator:
        assert "user" not in (await operator.client.call("PATCH", path, json={"title": "T"}))["createdBy"]
        changed = await operator.client.call("PATCH", path, json={"prompt": "[[say other]]"})
    assert changed["createdBy"]["user"] == "olga"
