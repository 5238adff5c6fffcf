"""Tests the cards of a board: worktrees and repos' own folders, their positions and their sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bough.core.overview import cards as module
from tests.api.error_responses import NOBODY, Json, refused
from tests.support.client import Client
from tests.support.server import Running, serving


async def cards(client: Client, board: str = "default", **query: Any) -> list[Json]:
    return (await client.get(f"/api/boards/{board}/cards", params=query))["cards"]


def names(cards: list[Json]) -> list[tuple[str, str | None]]:
    return [(item["repo"]["name"], item["worktree"] and item["worktree"]["name"]) for item in cards]


async def test_cards_of_boards(tmp_path: Path, database_url: str) -> None:
    """O4: Each working copy is a card at its position, on its own board or the default one, on both databases."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        first, second = [await client.repo(server.repo(name)) for name in ("one", "two")]
        made = [
            await client.post("/api/worktrees", {"repoId": first["id"], "branch": name}) for name in ("a", "b", "c")
        ]
        board = await client.post("/api/boards", {"name": "Other"})
        place = {"boardId": board["id"], "x": 3.5, "y": -2}
        await client.call("PATCH", f"/api/worktrees/{made[1]['id']}", json=place)
        moved = await client.call("PATCH", f"/api/repos/{second['id']}", json=place | {"boardId": board["id"][-8:]})
        assert (moved["boardId"], moved["x"], moved["y"]) == (board["id"], 3.5, -2)
        await client.call("DELETE", f"/api/worktrees/{made[2]['id']}")
        here = await cards(client)
        assert names(here) == [("one", None), ("one", "a")]
        assert here[0]["repo"] == {name: first[name] for name in ("id", "name", "path", "kind", "defaultBranch")}
        assert [(card["x"], card["y"]) for card in here] == [(None, None)] * 2
        assert here[1]["worktree"] == {**made[0]}
        there = await cards(client, board["id"][:13])
        assert names(there) == [("one", "b"), ("two", None)]
        assert [(card["x"], card["y"]) for card in there] == [(3.5, -2)] * 2
        refused(await client.http.delete(f"/api/boards/{board['id']}"), 409, "board_in_use")
        # The default board's id returns the same cards; null moves a card back to that board.
        boards = (await client.get("/api/boards"))["boards"]
        assert await cards(client, boards[0]["id"]) == here
        await client.call("PATCH", f"/api/repos/{second['id']}", json={"boardId": None, "x": None})
        assert names(await cards(client)) == [("one", None), ("one", "a"), ("two", None)]
        page = await client.get("/api/boards/default/cards?limit=1&offset=2")
        assert (names(page["cards"]), page["total"]) == ([("two", None)], 3)
        assert (page["cards"][0]["x"], page["cards"][0]["y"]) == (None, -2)
        assert (await client.get("/api/boards/default/cards?offset=9"))["cards"] == []
        refused(await client.http.get(f"/api/boards/{NOBODY}/cards"), 404, "board_not_found")
        wrong = await client.http.patch(f"/api/repos/{second['id']}", json={"boardId": NOBODY})
        refused(wrong, 404, "board_not_found")


async def test_sessions_of_cards(tmp_path: Path, database_url: str) -> None:
    """O4: A card shows the sessions that work in its folder, as in their tree; archived ones only on request."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        repo = await client.repo(server.repo())
        tree = await client.post("/api/worktrees", {"repoId": repo["id"], "branch": "side"})
        root = await client.session(repo["id"], initialPrompt="[[say one]]", title="root")
        await client.wait_task(root["taskId"])
        side = await client.session(repo["id"], worktreeId=tree["id"], title="side")
        child = await client.post(f"/api/sessions/{root['id']}/spawn", {"prompt": "[[hang]]", "title": "child"})
        await client.wait_task(child["taskId"], "running")
        await client.prompt(child["sessionId"], "and then")
        old = await client.session(repo["id"], title="old")
        await client.post(f"/api/sessions/{old['id']}/archive")
        own, other = await cards(client)
        assert [session["id"] for session in own["sessions"]] == [root["id"], child["sessionId"]]
        assert [session["id"] for session in other["sessions"]] == [side["id"]]
        assert (own["sessionsTotal"], other["sessionsTotal"]) == (2, 1)
        nodes = (await client.get(f"/api/sessions/{root['id']}/tree"))["sessions"]
        more = {"rootSessionId": root["id"], "repoId": repo["id"]}
        assert own["sessions"] == [node | more for node in nodes]
        first, second = own["sessions"]
        assert (first["unread"], first["createdBy"], first["promptedByAgent"]) == (True, "person", False)
        assert (second["unread"], second["queued"], second["activity"]) == (False, 1, "running")
        all_of_them = await cards(client, archived="true")
        assert [session["title"] for session in all_of_them[0]["sessions"]] == ["root", "child", "old"]


async def test_many_sessions_on_a_card(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """O4: A card with very many sessions shows the latest ones and the total."""
    monkeypatch.setattr(module, "MOST_SESSIONS", 2)
    monkeypatch.setattr(module, "PIECE", 1)
    client = server.client
    repo = await client.repo(server.repo())
    made = [await client.session(repo["id"]) for _ in range(3)]
    (card,) = await cards(client)
    assert [session["id"] for session in card["sessions"]] == [item["id"] for item in made[1:]]
    assert card["sessionsTotal"] == 3
    # What runs or waits is shown, however old it is.
    await client.wait_task(await client.prompt(made[0]["id"], "[[hang]]"), "running")
    (card,) = await cards(client)
    assert [session["id"] for session in card["sessions"]] == [made[0]["id"], made[2]["id"]]


async def test_sessions_prompted_by_an_agent_are_marked(server: Running) -> None:
    """O4: A session is marked if another session started its latest turn, until a person prompts it."""
    client = server.client
    repo = await client.repo(server.repo())
    call = '[[mcp agor_sessions_spawn {"prompt": "[[say hi]]", "title": "child", "enableCallback": false}]]'
    root = await client.session(repo["id"], permissionMode="bypassPermissions", initialPrompt=call)
    await client.wait_task(root["taskId"])
    (card,) = await cards(client)
    child = card["sessions"][1]
    assert (child["createdBy"], child["promptedByAgent"], card["sessions"][0]["promptedByAgent"]) == (
        "session",
        True,
        False,
    )
    await client.ask(child["id"], "[[say from a person]]")
    (card,) = await cards(client)
    assert card["sessions"][1]["promptedByAgent"] is False
