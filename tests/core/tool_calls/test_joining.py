"""Tests repeated calls (5c): a call is recorded before it acts; one that is sent again because its answer never arrived
joins the first, and an intended repeat acts again. `test_restarts` tests calls of a killed server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bough.core.tool_calls import service
from bough.core.tool_calls.execute import ToolAction
from bough.model.values.times import before
from bough.storage.queries import Query
from tests.support.client import Json
from tests.support.eventually import eventually
from tests.support.mcp.tool_caller import HEADERS, Agent
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server

SPAWN = "agor_sessions_spawn"
QUIET = {"prompt": "hello", "enableCallback": False}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[ToolServer]:
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def children(place: ToolServer, parent: str) -> list[str]:
    page = await place.client.get(f"/api/sessions?parentId={parent}&limit=200")
    return [session["id"] for session in page["sessions"]]


async def rows(place: ToolServer, session: str) -> list[Any]:
    return (await place.server.services.calls.list(session, 50, 0)).rows


class Line:
    """An agent's connection that can break."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    @classmethod
    async def call(cls, place: ToolServer, agent: Agent, tool: str, arguments: Json) -> Line:
        where = urlsplit(place.client.url)
        _, writer = await asyncio.open_connection(where.hostname, where.port)
        params = {"name": tool, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        headers = HEADERS | {
            "host": where.netloc,
            "authorization": f"Bearer {agent.token}",
            "content-length": str(len(body)),
        }
        lines = ["POST /mcp/ HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()
        return cls(writer)

    async def cut(self) -> None:
        self._writer.transport.abort()
        await asyncio.sleep(0)


def held_up(place: ToolServer, tool: str) -> tuple[asyncio.Event, asyncio.Event]:
    """Makes a tool pause right before it acts, until it is released."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    services = place.server.services
    actions = services.calls._executor._actions  # pyright: ignore[reportPrivateUsage]
    original = actions[tool]

    async def slowly(caller: Any, arguments: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await original.act(caller, arguments)

    services.calls.provide({**actions, tool: ToolAction(original.claim, slowly)})
    return begun, go_on


async def test_one_key_is_one_call(place: ToolServer) -> None:
    """5c: The same key and arguments act once; other arguments are refused; keys belong to their callers."""
    agent, other = await place.root("bypassPermissions"), await place.root("bypassPermissions")
    answers = await asyncio.gather(*(agent.does(SPAWN, **QUIET, idempotencyKey="k") for _ in range(5)))
    answers.append(await agent.does(SPAWN, **QUIET, idempotencyKey="k"))
    [child] = await children(place, agent.id)
    assert {item["sessionId"] for item in answers} == {child}
    text = await agent.fails(SPAWN, prompt="other words", idempotencyKey="k")
    assert "idempotency_key_reused" in text
    # For another tool or another session it is another key.
    await agent.does("agor_sessions_update", sessionId=agent.id, title="New", idempotencyKey="k")
    assert (await other.does(SPAWN, **QUIET, idempotencyKey="k"))["sessionId"] != child
    assert (await agent.does(SPAWN, **QUIET, idempotencyKey="l"))["sessionId"] != child
    assert [len(await children(place, item.id)) for item in (agent, other)] == [2, 1]


async def test_intended_repeats(place: ToolServer) -> None:
    """5c: Twenty equal calls at once act twenty times, and so does one right after the other."""
    agent = await place.root("bypassPermissions")
    answers = await asyncio.gather(*(agent.does(SPAWN, **QUIET) for _ in range(20)))
    for _ in range(3):
        answers.append(await agent.does(SPAWN, **QUIET))
    created = await children(place, agent.id)
    assert len(created) == 23 and {item["sessionId"] for item in answers} == set(created)

    async def are_marked() -> bool:
        return all(row.answered_at for row in await rows(place, agent.id))

    # That is stored after the answer was sent.
    await eventually(are_marked, "all outcomes are marked as received")


async def test_a_connection_that_breaks_while_a_call_acts(place: ToolServer) -> None:
    """5c: The call continues, and the repeated call joins it."""
    agent = await place.root("bypassPermissions")
    begun, go_on = held_up(place, SPAWN)
    line = await Line.call(place, agent, SPAWN, QUIET)
    await begun.wait()
    await line.cut()
    [first] = await rows(place, agent.id)
    wait_counts = place.server.services.calls._wait_counts  # pyright: ignore[reportPrivateUsage]

    async def left() -> bool:
        return first.id not in wait_counts

    await eventually(left)
    again = asyncio.create_task(agent.does(SPAWN, **QUIET))
    await eventually(lambda: first.id in wait_counts)
    go_on.set()
    answer = await again
    assert await children(place, agent.id) == [answer["sessionId"]]
    # That call got its answer, so the next one is another call.
    await agent.does(SPAWN, **QUIET)
    assert len(await children(place, agent.id)) == 2


async def test_a_connection_that_breaks_after_a_call_acted(place: ToolServer) -> None:
    """5c: An outcome that did not arrive waits for the repeated call."""
    agent = await place.root("bypassPermissions")
    begun, go_on = held_up(place, SPAWN)
    line = await Line.call(place, agent, SPAWN, QUIET)
    await begun.wait()
    await line.cut()
    [first] = await rows(place, agent.id)
    wait_counts = place.server.services.calls._wait_counts  # pyright: ignore[reportPrivateUsage]

    async def left() -> bool:
        return first.id not in wait_counts

    await eventually(left)
    go_on.set()

    async def done() -> bool:
        return (await rows(place, agent.id))[0].state == "done"

    await eventually(done)
    [child] = await children(place, agent.id)
    assert (await agent.does(SPAWN, **QUIET))["sessionId"] == child
    assert (await agent.does(SPAWN, **QUIET))["sessionId"] != child


async def test_a_connection_that_breaks_before_the_decision(place: ToolServer) -> None:
    """5c, 5d: The repeated call waits for the same person: one question, one act, one answer."""
    agent = await place.root()
    line = await Line.call(place, agent, SPAWN, QUIET)
    approval = await place.client.approval(agent.id)
    assert (await place.get(agent.id))["activity"] == "waiting_permission"
    await line.cut()

    async def goes_on() -> bool:
        return (await place.get(agent.id))["activity"] == "running"

    await eventually(goes_on)
    again = asyncio.create_task(agent.does(SPAWN, **QUIET))

    async def waits() -> bool:
        return (await place.get(agent.id))["activity"] == "waiting_permission"

    await eventually(waits)
    assert [item["id"] for item in await place.pending()] == [approval["id"]]
    await place.decide(approval["id"])
    answer = await again
    assert await children(place, agent.id) == [answer["sessionId"]]
    [row] = await rows(place, agent.id)
    assert row.told_task_id is None


async def test_a_connection_that_breaks_without_a_repeated_call(place: ToolServer) -> None:
    """5d: An allowed call still runs, and its outcome comes with a later prompt."""
    agent = await place.root()
    line = await Line.call(place, agent, SPAWN, QUIET)
    approval = await place.client.approval(agent.id)
    await line.cut()

    async def goes_on() -> bool:
        return (await place.get(agent.id))["activity"] == "running"

    await eventually(goes_on)
    await place.decide(approval["id"])

    async def is_told() -> bool:
        return bool((await rows(place, agent.id))[0].told_task_id)

    await eventually(is_told)
    assert len(await children(place, agent.id)) == 1


async def test_a_pending_call_is_not_asked_about_twice(place: ToolServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """5d: A caller that repeats a pending call gets the same handle."""
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    agent = await place.root()
    first, second = await agent.does(SPAWN, **QUIET), await agent.does(SPAWN, **QUIET)
    assert first["approvalId"] == second["approvalId"] and len(await place.pending()) == 1
    assert (await agent.does(SPAWN, **QUIET, title="x"))["approvalId"] != first["approvalId"]


async def test_another_turn_is_another_call(place: ToolServer) -> None:
    """5c: Equal arguments join an earlier call only within a turn."""
    agent = await place.root("bypassPermissions")
    begun, go_on = held_up(place, SPAWN)
    line = await Line.call(place, agent, SPAWN, QUIET)
    await begun.wait()
    await line.cut()
    go_on.set()
    await eventually(lambda: children(place, agent.id))
    await place.client.post(f"/api/sessions/{agent.id}/stop")
    await (await place.agent(agent.id)).does(SPAWN, **QUIET)
    assert len(await children(place, agent.id)) == 2


async def test_old_calls_are_forgotten(place: ToolServer) -> None:
    """5c: Calls are kept for a time; pending ones are kept longer."""
    agent = await place.root("bypassPermissions")
    await agent.does(SPAWN, **QUIET)
    assert len(await rows(place, agent.id)) == 1
    age = Query("age", "UPDATE calls SET created_at = :at", "Makes calls old.")
    services = place.server.services
    old = before(services.settings.keep_answers + 60)
    await services.store.write(lambda change: change.tx.run(age, at=old))
    await services.maintenance.run_once()
    assert await rows(place, agent.id) == []
