"""Tests the sidebar's list of live sessions, and pins."""

from __future__ import annotations

from pathlib import Path

from bough.core.overview.sidebar import MOST_PINS
from tests.api.error_responses import NOBODY, Json, refused
from tests.support.client import Client
from tests.support.people import as_user
from tests.support.server import Running, serving


async def titles(client: Client) -> list[str]:
    return [session["title"] for session in (await client.get("/api/sidebar"))["sessions"]]


async def test_live_sessions_are_listed(tmp_path: Path, database_url: str) -> None:
    """O4: The sidebar lists live sessions by last activity, pinned ones first, on both databases; an ended session
    stays only while it is pinned."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        repo = await client.repo(server.repo())
        sessions = [await client.session(repo["id"], title=title) for title in ("one", "two", "three")]
        assert await titles(client) == ["three", "two", "one"]
        pinned = await client.call("PUT", f"/api/sessions/{sessions[0]['id']}/pin")
        assert [(row["title"], row["pinned"]) for row in pinned["sessions"]] == [
            ("one", True),
            ("three", False),
            ("two", False),
        ]
        assert await client.call("PUT", f"/api/sessions/{sessions[0]['id']}/pin") == pinned
        for session in sessions[:2]:
            await client.post(f"/api/sessions/{session['id']}/complete")
        assert await titles(client) == ["one", "three"]
        await client.call("DELETE", f"/api/sessions/{sessions[0]['id']}/pin")
        assert await titles(client) == ["three"]
        await client.post(f"/api/sessions/{sessions[2]['id']}/archive")
        assert await client.get("/api/sidebar") == {"sessions": [], "more": 0}


async def test_too_many_pins_are_refused(server: Running) -> None:
    """O4: The number of pins is limited, and a pin that exceeds it is not kept."""
    client = server.client
    repo = await client.repo(server.repo())
    sessions: list[Json] = []
    for number in range(MOST_PINS + 1):
        session = await client.session(repo["id"], title=str(number))
        sessions.append(session)
        await client.post(f"/api/sessions/{session['id']}/complete")
    for session in sessions[:-1]:
        await client.call("PUT", f"/api/sessions/{session['id']}/pin")
    answer = await client.http.put(f"/api/sessions/{sessions[-1]['id']}/pin")
    assert refused(answer, 409)["code"] == "too_many_pins"
    assert len(await titles(client)) == MOST_PINS
    # Nobody sees the pins of archived sessions, so they do not count.
    await client.post(f"/api/sessions/{sessions[0]['id']}/archive")
    await client.call("PUT", f"/api/sessions/{sessions[-1]['id']}/pin")
    assert len(await titles(client)) == MOST_PINS
    refused(await client.http.put(f"/api/sessions/{NOBODY}/pin"), 404)


async def test_pins_belong_to_a_person(server: Running) -> None:
    """O4: Each person has pins of their own, a viewer too; they end with the session."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], title="shared")
    async with as_user(server, "vera", "viewer") as vera:
        await vera.client.call("PUT", f"/api/sessions/{session['id']}/pin")
        (mine,) = (await server.client.get("/api/sidebar"))["sessions"]
        (hers,) = (await vera.client.get("/api/sidebar"))["sessions"]
        assert (mine["pinned"], hers["pinned"]) == (False, True)
        await server.client.call("DELETE", f"/api/sessions/{session['id']}?purge=true")
        assert (await vera.client.get("/api/sidebar"))["sessions"] == []


async def test_a_session_becomes_unread_again(server: Running) -> None:
    """O4: A session that was marked as read is marked as unread by its last turn; one without a turn is not."""
    client = server.client
    repo = await client.repo(server.repo())
    new = await client.session(repo["id"], title="new")
    worked = await client.session(repo["id"], title="worked")
    await client.ask(worked["id"], "[[say done]]")
    for session in (new, worked):
        await client.post(f"/api/sessions/{session['id']}/seen")
        await client.post(f"/api/sessions/{session['id']}/unseen")
    review = (await client.get("/api/home"))["needs"]["review"]
    assert [session["title"] for session in review] == ["worked"]
