"""Tests races over REST: validation before anything is created, short ids, and idempotency keys."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.error_responses import Json
from tests.support.server import Running

GO = "[[say go]]"
# A racer with the session's own settings.
SAME: Json = {}


@pytest.fixture
async def session(server: Running) -> str:
    repo = await server.client.repo(server.repo())
    return (await server.client.session(repo["id"], permissionMode="acceptEdits"))["id"]


async def begin(server: Running, session: str, expect: int = 201, **fields: Any) -> Json:
    body = {"prompt": GO, "contenders": [SAME, SAME], **fields}
    return await server.client.post(f"/api/sessions/{session}/race", body, expect=expect)


@pytest.mark.parametrize(
    ("status", "code", "fields"),
    [
        (400, "bad_request", {"contenders": [SAME]}),
        (400, "bad_request", {"contenders": [SAME] * 9}),
        (400, "bad_request", {"contenders": [SAME, {"worktree": "same"}]}),
        (400, "bad_request", {"kind": "btw"}),
        (400, "empty_prompt", {"prompt": " "}),
        (400, "title_too_long", {"contenders": [SAME, {"title": "x" * 10_000}]}),
        (400, "unknown_agent", {"contenders": [SAME, {"agent": "nobody"}]}),
        (400, "bad_choice", {"contenders": [SAME, {"model": ""}]}),
    ],
)
async def test_bad_races_create_nothing(server: Running, session: str, status: int, code: str, fields: Json) -> None:
    """B6, A4: One invalid racer prevents the whole race."""
    assert (await begin(server, session, status, **fields))["error"]["code"] == code
    assert (await server.client.get("/api/worktrees"))["total"] == 0
    assert len((await server.client.get(f"/api/sessions/{session}/tree"))["sessions"]) == 1


async def test_a_key_creates_one_race(server: Running, session: str) -> None:
    """A4, B6: The same request returns the same answer; a different one under the same key is refused."""
    begun = await begin(server, session, idempotencyKey="once")
    assert await begin(server, session, idempotencyKey="once") == begun
    other = await begin(server, session, 409, idempotencyKey="once", kind="spawn")
    assert other["error"]["code"] == "idempotency_key_reused"
    assert len((await server.client.get(f"/api/sessions/{session}/tree"))["sessions"]) == 3


async def test_races_are_found_by_their_ids(server: Running, session: str) -> None:
    """R5, B6: A race is found by part of its id; other messages, and sessions that are not racers, are refused."""
    client = server.client
    task = await client.ask(session, GO)
    begun = await begin(server, session, title="Birds", contenders=[{"title": "Heron"}, SAME])
    race = (await client.get(f"/api/races/{begun['raceId'][-12:]}"))["raceId"]
    assert race == begun["raceId"]
    contenders = (await client.get(f"/api/races/{race}"))["contenders"]
    assert [item["title"] for item in contenders] == ["Heron", "Birds (2)"]
    assert [(item["sessionId"], item["taskId"]) for item in contenders] == [
        (item["sessionId"], item["taskId"]) for item in begun["sessions"]
    ]
    messages = await client.get(f"/api/sessions/{task['sessionId']}/messages")
    for wrong in (messages[0]["id"], session):
        for path in (f"/api/races/{wrong}", f"/api/races/{wrong}/diff?session={session}"):
            assert (await client.get(path, expect=404))["error"]["code"] == "race_not_found"
        body = {"sessionId": session}
        refused = await client.post(f"/api/races/{wrong}/keep", body, expect=404)
        assert refused["error"]["code"] == "race_not_found"
    stranger = await client.get(f"/api/races/{race}/diff?session={session}", expect=400)
    assert stranger["error"]["code"] == "not_a_contender"
    assert stranger["error"]["details"]["sessions"] == [item["sessionId"] for item in begun["sessions"]]
    refused = await client.post(f"/api/races/{race}/keep", {"sessionId": session}, expect=400)
    assert refused["error"]["code"] == "not_a_contender"
    bad = await client.post(f"/api/races/{race}/keep", {"sessionId": session, "how": "burn"}, expect=400)
    assert bad["error"]["code"] == "bad_request"


async def test_the_races_of_a_tree_are_listed(server: Running, session: str) -> None:
    """B6: A tree's races are listed newest first from any of its sessions; a tree without races has an empty list."""
    client = server.client
    assert (await client.get(f"/api/sessions/{session}/races"))["races"] == []
    first, second = await begin(server, session), await begin(server, session, kind="spawn")
    runner = first["sessions"][0]["sessionId"]
    races = await client.get(f"/api/sessions/{runner}/races")
    assert races["total"] == 2
    assert [
        (race["raceId"], race["sessionId"], race["sessionIds"], race["keptSessionId"]) for race in races["races"]
    ] == [(item["raceId"], session, [each["sessionId"] for each in item["sessions"]], None) for item in (second, first)]
    rest = await client.get(f"/api/sessions/{session}/races?limit=1&offset=1")
    assert [race["raceId"] for race in rest["races"]] == [first["raceId"]]


async def test_callbacks_are_off_by_default(server: Running, session: str) -> None:
    """B6, Q3: Racers that are spawned report to their parent only if callbacks are requested."""
    for callback, enabled in ((None, False), ({"enabled": True}, True)):
        begun = await begin(server, session, kind="spawn", callback=callback)
        for item in begun["sessions"]:
            made = await server.client.get(f"/api/sessions/{item['sessionId']}")
            assert (made["kind"], made["callback"]["enabled"]) == ("subsession", enabled)
