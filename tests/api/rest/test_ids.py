"""Tests that every route accepts a unique prefix or suffix of an id."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from bough.model.values.ids import LENGTH, SHORTEST
from tests.api.error_responses import NOBODY, Json, refused
from tests.support.server import Running

NOUNS = ("repos", "boards", "mcp-servers", "sessions", "tasks", "messages", "approvals")


@pytest.fixture
async def records(server: Running) -> AsyncGenerator[dict[str, Json]]:
    """Yields one record of each kind."""
    client = server.client
    repo = await client.repo(server.repo())
    mcp = await client.post("/api/mcp-servers", {"name": "one", "transport": "http", "url": "http://127.0.0.1:1"})
    session = await client.session(repo["id"], permissionMode="ask", initialPrompt="[[run true]]")
    approval = await client.approval(session["id"])
    yield {
        "repos": repo,
        "boards": (await client.get("/api/boards"))["boards"][0],
        "mcp-servers": mcp,
        "sessions": session,
        "tasks": await client.get(f"/api/tasks/{session['taskId']}"),
        "messages": (await client.get(f"/api/sessions/{session['id']}/messages"))[0],
        "approvals": approval,
    }


async def test_prefixes_and_suffixes_of_every_kind_of_id(server: Running, records: dict[str, Json]) -> None:
    """R5: Accepts any unique prefix or suffix of at least 8 characters, in either case."""
    assert records.keys() == set(NOUNS)
    for noun, record in records.items():
        whole = record["id"]
        ends = [whole[-length:] for length in (SHORTEST, 12, 13, 20, LENGTH - 1)]
        beginnings = [whole[:length] for length in (23, 28, LENGTH - 1)]
        if noun not in ("messages", "tasks"):
            # Several of these are created within the same moment, so short prefixes are ambiguous.
            beginnings += [whole[:length] for length in (SHORTEST, 13)]
        for short in (
            whole,
            whole.upper(),
            whole.replace("-", ""),
            whole[:24].upper(),
            whole[-8:].upper(),
            *beginnings,
            *ends,
        ):
            row = await server.client.get(f"/api/{noun}/{short}")
            assert row["id"] == whole, (noun, short)


async def test_invalid_and_unknown_ids(server: Running, records: dict[str, Json]) -> None:
    """R5: Refuses ids that are too short, too long, not hexadecimal, or unknown, and never fails with a server
    error."""
    for noun in NOUNS:
        whole = records[noun]["id"]
        for wrong in ("0", whole[:7], whole[-7:], whole + "0", whole[:8] + "%25", "zzzzzzzz", "%F0%9F%8C%B1" * 8):
            refused(await server.client.http.get(f"/api/{noun}/{wrong}"), 400, "bad_id")
        for wrong in ("_" * 8, "%" * 8, "a'--aaaa", "%00" * 8, "0" * 3000):
            refused(await server.client.http.get(f"/api/{noun}/{wrong}"), 400, "bad_id")
        for nobody in (NOBODY, NOBODY[:8], whole[2:12], "-" * 8, "-" * LENGTH, "f" * 8, "9" * 8):
            error = refused(await server.client.http.get(f"/api/{noun}/{nobody}"), 404)
            assert error["code"].endswith("_not_found")
            assert nobody in error["message"]


async def test_an_ambiguous_id_lists_the_candidates(server: Running) -> None:
    """R5: Records created together share a prefix; each is still found by its suffix."""
    boards = [await server.client.post("/api/boards", {"name": f"board {number}"}) for number in range(3)]
    ids = sorted(board["id"] for board in boards)
    shared = ids[0][:SHORTEST]
    assert all(item_id.startswith(shared) for item_id in ids)
    error = refused(await server.client.http.get(f"/api/boards/{shared}"), 409, "ambiguous_id")
    assert set(ids) <= set(error["details"]["candidates"])
    assert all(item_id in error["message"] for item_id in ids)
    for item_id in ids:
        assert (await server.client.get(f"/api/boards/{item_id[-SHORTEST:]}"))["id"] == item_id
        assert (await server.client.get(f"/api/boards/{item_id[:23]}"))["id"] == item_id


async def test_short_ids_in_bodies_and_queries(server: Running, records: dict[str, Json]) -> None:
    """R5: Bodies and queries accept short ids as paths do, and the full id is stored."""
    client = server.client
    session, mcp, repo = records["sessions"], records["mcp-servers"], records["repos"]
    short = session["id"][-8:]
    made = await client.session(repo["id"][-8:], mcpServerIds=[mcp["id"][:8]])
    assert made["repoId"] == repo["id"]
    assert made["mcpServerIds"] == [mcp["id"]]
    patched = await client.call("PATCH", f"/api/sessions/{short}", json={"mcpServerIds": [mcp["id"][-12:]]})
    assert patched["mcpServerIds"] == [mcp["id"]]
    assert (await client.get(f"/api/sessions?repoId={repo['id'][-8:]}"))["total"] == 2
    assert (await client.get(f"/api/tasks?sessionId={short}"))["tasks"][0]["sessionId"] == session["id"]
    assert (await client.get(f"/api/approvals?sessionId={short}"))["total"] == 1
    message = records["messages"]["id"]
    assert all(
        item["id"] != message for item in await client.get(f"/api/sessions/{short}/messages?after={message[-9:]}")
    )
    stopped = await client.post(f"/api/sessions/{short}/stop", {"expectedTaskId": records["tasks"]["id"][-8:]})
    assert stopped["task"]["id"] == records["tasks"]["id"]
    first, second = [await client.prompt(short, text) for text in ("[[slow 50 5]]", "two")]
    third = await client.prompt(short, "three")
    moved = await client.call("PATCH", f"/api/tasks/{third[-8:]}", json={"before": second[-8:]})
    assert moved["id"] == third
    async with client.events(short) as events:
        await client.call("DELETE", f"/api/tasks/{first[-8:]}")
        assert (await events.until(lambda event: event.get("objectId") == first))["sessionId"] == session["id"]


async def test_unknown_ids_in_bodies_and_queries(server: Running, records: dict[str, Json]) -> None:
    """R5, A4: Full and short ids that match nothing are refused alike, and nothing is created."""
    http = server.client.http
    repo, session = records["repos"], records["sessions"]
    for nobody in (NOBODY, NOBODY[:8]):
        for asked in (
            {"repoId": nobody},
            {"worktreeId": nobody},
            {"repoId": repo["id"], "mcpServerIds": [nobody]},
            {"repoId": repo["id"], "worktreeId": nobody},
        ):
            refused(await http.post("/api/sessions", json={"agent": "demo", **asked}), 404)
        for query in ("sessions?repoId", "sessions?worktreeId", "tasks?sessionId", "approvals?sessionId"):
            refused(await http.get(f"/api/{query}={nobody}"), 404)
        refused(await http.patch(f"/api/sessions/{session['id']}", json={"mcpServerIds": [nobody]}), 404)
        refused(await http.post(f"/api/sessions/{session['id']}/stop", json={"expectedTaskId": nobody}), 404)
        refused(await http.get(f"/api/sessions/{session['id']}/messages?before={nobody}"), 404)
        refused(await http.get(f"/api/events?sessionId={nobody}"), 404)
    assert (await server.client.get("/api/sessions"))["total"] == 1


async def test_messages_of_another_session_are_not_found(server: Running, records: dict[str, Json]) -> None:
    """A1: `before` and `after` must name a message of the same transcript."""
    other = await server.client.session(records["repos"]["id"], initialPrompt="hello")
    await server.client.wait_task(other["taskId"])
    foreign = records["messages"]["id"]
    for mark in ("before", "after"):
        refused(await server.client.http.get(f"/api/sessions/{other['id']}/messages?{mark}={foreign}"), 404)
