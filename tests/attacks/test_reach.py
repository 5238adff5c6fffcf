"""Attacks of an agent on sessions that it cannot reach: by steering their turns, and by searching what they said."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.tool_calls import service
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server

SECRET = "heron-secret-4711"


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def test_a_strangers_turn_is_not_steered(place: ToolServer) -> None:
    """5d, Q8: In the mildest mode and the mightiest, an agent puts nothing into the running turn of another tree and
    stops it for nothing: a person is asked each time, and the turn works on."""
    client = place.client
    foreign = await place.session("default", title="Not yours")
    turn = await client.prompt(foreign, "[[hang]]")
    await client.wait_task(turn, "running")
    for mode in ("plan", "bypassPermissions"):
        agent = await place.root(mode)
        for when in ("now", "after_stop"):
            title = f"{mode} {when}"
            for tool, arguments in (
                ("agor_sessions_prompt", {"prompt": title, "mode": "continue"}),
                ("send_to_session", {"message": title}),
            ):
                approval = await place.asked(agent, tool, sessionId=foreign, when=when, **arguments)
                await place.decide(approval["id"], "deny")
        for text in (f"../{foreign}", "%", ""):
            assert await agent.fails("agor_sessions_prompt", sessionId=text, prompt="x", mode="continue", when="now")
    tasks = (await client.get(f"/api/sessions/{foreign}/tasks"))["tasks"]
    assert [(task["id"], task["status"]) for task in tasks] == [(turn, "running")]


async def test_a_search_finds_nothing_of_strangers(place: ToolServer) -> None:
    """5d, A2: A search by an agent finds neither what other trees said, whether they are live, archived or deleted,
    nor secret values, its own included; no syntax of queries changes that."""
    client = place.client
    for ending in ("live", "archived", "deleted"):
        foreign = await place.session("default", title=f"heron {ending}")
        await client.ask(foreign, f"[[say heron of {ending}]]")
        if ending == "archived":
            await client.post(f"/api/sessions/{foreign}/archive")
        if ending == "deleted":
            await client.call("DELETE", f"/api/sessions/{foreign}?force=true")
    own = await place.session("bypassPermissions", title="Own", env={"KEY": SECRET})
    await client.ask(own, f"[[say the key is {SECRET} today]]")
    agent = await place.agent(own)
    for query in ("heron", "heron*", '"heron of live"', "heron OR today", "*", "-today heron", "title:heron", "h*"):
        page = await agent.does("agor_search", query=query)
        assert {item["session_id"] for item in page["data"]} <= {own}, query
        assert "heron of" not in str(page) and SECRET not in str(page)
    page = await agent.does("agor_search", query="key today")
    assert ["***" in item["text"] for item in page["data"]] == [True, True]
    assert (await agent.does("agor_search", query=f'"{SECRET}"'))["total"] == 0
