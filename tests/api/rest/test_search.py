"""Tests search over REST; the contract suite for both databases tests which words match."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api.error_responses import Json
from tests.support.eventually import eventually
from tests.support.server import Running, serving

FIELDS = {
    *("messageId", "sessionId", "taskId", "position", "role", "type", "snippet", "marks", "score", "createdAt"),
    *("sessionTitle", "agent", "repoId", "worktreeId", "rootSessionId"),
}


async def opened(server: Running, name: str = "repo", **fields: object) -> Json:
    repo = await server.client.repo(server.repo(name))
    return await server.client.session(repo["id"], **fields)


async def search(server: Running, q: str, **params: object) -> Json:
    return await server.client.get("/api/search", params={"q": q, **params})


async def test_a_turn_is_found(tmp_path: Path, database_url: str) -> None:
    """A2: Finds prompts, answers, tool calls with their output, and session titles, each with its position."""
    async with serving(tmp_path, database=database_url) as server:
        session = await opened(server, title="Migrating the lighthouse", permissionMode="bypassPermissions")
        task = await server.client.ask(session["id"], "[[say the grebe sings]][[run echo bittern-output]]")
        messages = {item["id"]: item for item in await server.client.get(f"/api/sessions/{session['id']}/messages")}
        page = await search(server, "grebe")
        assert (page["total"], page["totalCapped"], page["limit"], page["offset"]) == (2, False, 20, 0)
        assert page["indexing"] is False and {hit["role"] for hit in page["results"]} == {"user", "agent"}
        for hit in page["results"]:
            message = messages[hit["messageId"]]
            assert set(hit) == FIELDS
            assert [hit[name] for name in ("sessionId", "taskId", "position", "role", "createdAt")] == [
                message[name] for name in ("sessionId", "taskId", "position", "role", "createdAt")
            ]
            assert hit["taskId"] == task["id"] and hit["type"] == message["content"]["type"]
            assert [hit["snippet"][low:high] for low, high in hit["marks"]] == ["grebe"]
            assert (hit["agent"], hit["repoId"], hit["worktreeId"]) == ("demo", session["repoId"], None)
        [tool] = (await search(server, "bittern-output", type="tool"))["results"]
        assert messages[tool["messageId"]]["content"]["type"] == "tool" and tool["role"] == "system"
        [title] = (await search(server, "light*"))["results"]
        assert (title["messageId"], title["taskId"], title["position"], title["role"]) == (None,) * 4
        assert title["type"] == "session"
        assert title["sessionTitle"] == title["snippet"] == session["title"]


async def test_a_transcript_can_be_read_around_a_hit(server: Running) -> None:
    """A1, A2: The messages before and after a hit can be read as pages."""
    session = await opened(server)
    await server.client.ask(session["id"], "[[say one]][[plan a; b]][[say curlew]][[plan c]][[say three]]")
    [hit] = (await search(server, "curlew", role="agent"))["results"]
    path = f"/api/sessions/{hit['sessionId']}/messages"
    every = [item["id"] for item in await server.client.get(path)]
    before = await server.client.get(path, params={"before": hit["messageId"], "limit": 2})
    after = await server.client.get(path, params={"after": hit["messageId"], "limit": 2})
    at = every.index(hit["messageId"])
    assert [item["id"] for item in before] == every[at - 2 : at] and len(before) == 2
    assert [item["id"] for item in after] == every[at + 1 : at + 3] and after


async def test_words_are_found_before_the_turn_ends(tmp_path: Path, database_url: str) -> None:
    """A2: An agent's text is found while its message is still growing."""
    async with serving(tmp_path, database=database_url) as server:
        session = await opened(server)
        task = await server.client.prompt(session["id"], "[[slow 600 30]]")

        async def results() -> list[Json]:
            return (await search(server, '"tick 9"', role="agent"))["results"]

        page = await eventually(results)
        message = await server.client.get(f"/api/sessions/{session['id']}/messages", params={"limit": 1})
        assert [item["id"] for item in message] == [hit["messageId"] for hit in page]
        assert message[0]["content"]["partial"] is True
        await server.client.post(f"/api/sessions/{session['id']}/stop")
        await server.client.wait_task(task)


async def test_archived_and_purged_sessions(tmp_path: Path, database_url: str) -> None:
    """A2: Archived sessions are found unless excluded; purged sessions are not found."""
    async with serving(tmp_path, database=database_url) as server:
        session = await opened(server, title="dunlin title")
        await server.client.ask(session["id"], "[[say dunlin]]")
        await server.client.post(f"/api/sessions/{session['id']}/complete")
        await server.client.post(f"/api/sessions/{session['id']}/archive")
        assert (await search(server, "dunlin"))["total"] == 3
        assert (await search(server, "dunlin", archived=True))["total"] == 3
        assert (await search(server, "dunlin", archived=False))["total"] == 0
        await server.client.call("DELETE", f"/api/sessions/{session['id']}", params={"purge": True})
        assert (await search(server, "dunlin"))["results"] == []


async def test_filters_and_pages(server: Running) -> None:
    """A2: Results can be filtered and paged; invalid parameters are refused."""
    mine, other = await opened(server, "one", title="1"), await opened(server, "two", title="2")
    for session in (mine, other):
        await server.client.ask(session["id"], "[[say redshank]]")
    assert (await search(server, "redshank"))["total"] == 4
    for name, value in (("sessionId", mine["id"]), ("rootId", mine["id"][-8:]), ("repoId", mine["repoId"])):
        narrow = await search(server, "redshank", **{name: value})
        assert {hit["sessionId"] for hit in narrow["results"]} == {mine["id"]}
    assert (await search(server, "redshank", agent="codex", status="active"))["total"] == 0
    assert (await search(server, "redshank", until="2001-01-01"))["total"] == 0
    assert (await search(server, "redshank", since="2001-01-01", status="active", agent="demo"))["total"] == 4
    first = await search(server, "redshank", limit=3)
    rest = await search(server, "redshank", limit=3, offset=3)
    assert len({hit["messageId"] for hit in first["results"] + rest["results"]}) == 4
    wrongs: tuple[Json, ...] = ({"q": "x" * 1001}, {"limit": 101}, {"role": "robot"}, {"since": "soon"}, {"offset": -1})
    for wrong in wrongs:
        await server.client.get("/api/search", params={"q": "x"} | wrong, expect=400)
    await server.client.get("/api/search", expect=400)
    await server.client.get("/api/search", params={"q": "x", "sessionId": "0" * 8}, expect=404)


@given(st.text(max_size=200))
@settings(max_examples=80)
async def test_any_text_can_be_searched(server: Running, text: str) -> None:
    """A2: Accepts any text within the length limit."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    await search(server, text)
