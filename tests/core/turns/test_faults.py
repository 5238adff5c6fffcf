"""Tests agents, people and kills that get in each other's way. Each case once lost something or did it twice."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.core.helpers import (
    MARK,
    add_agent,
    agents_with,
    ending_keepers,
    messages,
    misbehaving,
    open_in,
    open_session,
    wait_until_gone,
)
from tests.support.client import PATIENCE, Client, Events, Json
from tests.support.faults.database_faults import hold_answers
from tests.support.server import ServerProcess, serving


def add_late(folder: Path) -> Path:
    """Adds the agent that answers late to the catalog, and returns the file that it waits for."""
    now = folder / "now"
    add_agent(folder, "late", ["{python}", "-m", "tests.support.misbehaving_agents.bad_ends.answers_late", str(now)])
    return now


def add_asking(folder: Path) -> Path:
    """Adds the agent that asks to the catalog, and returns the file where it records its answers."""
    received = folder / "heard"
    add_agent(
        folder, "asks", ["{python}", "-m", "tests.support.misbehaving_agents.bad_ends.asks_then_dies", str(received)]
    )
    return received


async def ended(events: Events, session: str) -> None:
    """Waits until a session is cancelled."""
    await events.until(lambda event: event.get("objectId") == session and event["data"]["status"] == "cancelled")


async def spoke(client: Client, session: str, text: str) -> Json:
    """Waits for the first message with this text, and returns it."""
    async with client.events(session, 0) as events:
        event = await events.until(
            lambda created: (
                created["type"] == "message.created" and created["data"]["content"].get("text", "").startswith(text)
            )
        )
    return event["data"]


async def grown(client: Client, session: str, seen: int) -> int:
    """Waits until a transcript is longer than this, and returns its length. Polls, because closing a stream of events
    that nobody reads to its end takes long."""
    async with asyncio.timeout(PATIENCE):
        while True:
            count = (await client.get(f"/api/sessions/{session}"))["messageCount"]
            if count > seen:
                return count


# Approvals and decisions


async def test_a_decision_is_only_for_the_attempt_that_asked(tmp_path: Path) -> None:
    """Q4, P4: A decision about the first attempt is never sent to the second one, whose request has the same id."""
    received = add_asking(tmp_path)
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            session = await open_in(server, client, agent="asks")
            task = await client.prompt(session, "look")
            first = await client.approval(session)
            async with client.events(session) as events:
                await client.post(f"/api/approvals/{first['id']}", {"decision": "allow"})
                second = (await events.until(lambda event: event["type"] == "approval.created"))["data"]
        assert (first["title"], second["title"]) == ("look", "remove")
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            assert (await client.get(f"/api/approvals/{second['id']}"))["status"] == "pending"
            await client.post(f"/api/approvals/{second['id']}", {"decision": "deny"})
            assert (await client.wait_task(task))["attempt"] == 2
    assert received.read_text() == "look: yes\nremove: no\n"


async def test_a_remembered_choice_is_answered_after_a_kill(tmp_path: Path) -> None:
    """Q4: A server that is killed right before it answers by a remembered choice leaves that to the next server."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    server.env = {"CRASH": "reply:2"}
    async with server:
        async with server.client() as client:
            session = await open_in(server, client, permissionMode="ask")
            first = await client.prompt(session, "[[run echo x >> count]]")
            question = await client.approval(session)
            await client.post(f"/api/approvals/{question['id']}", {"decision": "allow_always"})
            assert (await client.wait_task(first))["status"] == "completed"
            task = await client.prompt(session, "[[run echo x >> count]]")
        assert server.process is not None
        assert await server.process.wait() == -signal.SIGKILL
        server.env, server.module = {}, "bough"
        await server.start()
        async with server.client() as client:
            again = await client.wait_task(task)
            assert (again["status"], again["attempt"]) == ("completed", 1)
            assert (await client.get("/api/approvals?status=pending"))["total"] == 0
    assert (server.root / "repo" / "count").read_text() == "x\nx\n"


async def test_a_turn_that_an_agent_cancels_after_a_denial_has_ended(tmp_path: Path) -> None:
    """O2: An agent that reports `cancelled` after a denial was not interrupted and is not told to continue."""
    received = add_asking(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="asks")
        task = await client.prompt(session, "remove")
        question = await client.approval(session)
        await client.post(f"/api/approvals/{question['id']}", {"decision": "deny"})
        done = await client.wait_task(task)
        assert (done["status"], done["stopReason"], done["attempt"]) == ("completed", "denied", 1)
        assert await messages(client, session, "error") == []
    assert received.read_text() == "remove: no\n"


# Agents that do not cooperate


async def test_a_cancelled_turn_that_nobody_stopped_is_interrupted(tmp_path: Path) -> None:
    """O2: A turn that reports `cancelled` although Bough did not stop it continues as attempt 2."""
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, env={MARK: str(tmp_path)})
        task = await client.prompt(session, "[[slow 20 20]]")
        await spoke(client, session, "tick 1")
        [agent] = agents_with(tmp_path)
        os.kill(agent, signal.SIGTERM)
        done = await client.wait_task(task)
        assert (done["status"], done["attempt"]) == ("completed", 2)
        [error] = await messages(client, session, "error")
        assert error["text"].endswith("It is started again and told to continue.")


async def test_forced_stops_are_not_crashes(tmp_path: Path) -> None:
    """T3: Ending an agent that did not stop does not count as a crash; its session stays usable."""
    misbehaving(tmp_path, "ignores_cancel")
    async with serving(tmp_path, stop_timeout=0.05, max_deaths=2) as server:
        client = server.client
        session = await open_session(server, agent="ignores_cancel", env={MARK: str(tmp_path)})
        for _ in range(2):
            task = await client.prompt(session, "work")
            await client.wait_task(task, "running")
            stopped = await client.post(f"/api/sessions/{session}/stop")
            assert stopped["task"]["status"] == "cancelled"
        async with client.events(session) as events:
            task = await client.prompt(session, "work")
            await events.until(lambda event: event["type"] == "message.created" and event["data"]["role"] == "agent")
            [agent] = agents_with(tmp_path)
            os.kill(agent, signal.SIGKILL)
            event = await events.until(
                lambda event: (
                    event.get("objectId") == task
                    and (event["data"]["status"] == "failed" or event["data"]["attempt"] == 2)
                )
            )
            if event["data"]["status"] == "dispatching":
                event = await events.until(lambda event: event.get("objectId") == task)
        assert (event["data"]["status"], event["data"]["attempt"]) == ("running", 2)
        assert (await client.get(f"/api/sessions/{session}"))["status"] == "active"


async def test_text_after_the_end_of_a_turn_is_completed(tmp_path: Path) -> None:
    """R4: Text between turns is a complete message before the next turn starts, and no longer partial."""
    now = add_late(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="late")
        await client.ask(session, "afterthought")
        now.touch()
        words = await spoke(client, session, "too late")
        async with client.events(session) as events:
            task = await client.prompt(session, "quick")
            closed = await events.until(lambda event: event.get("objectId") == words["id"])
            assert closed["data"]["content"] == {"type": "text", "text": "too late", "partial": False}
            begun = await events.until(
                lambda event: event.get("objectId") == task and event["data"]["status"] == "running"
            )
            assert closed["cursor"] < begun["cursor"]
        await client.wait_task(task)
        async with client.events(session) as late:
            await client.ask(session, "quick")
            await late.until(lambda event: event["type"] == "task.patched" and event["data"]["status"] == "completed")
            assert not [item for item in late.seen if item["type"] == "message.snapshot"]
        assert await client.texts(session) == ["in time", "too late", "in time", "in time"]


async def test_a_removed_agent_does_not_stop_the_server(tmp_path: Path) -> None:
    """O2: The turn of an agent that left the catalog fails with an error that says so, and its processes end."""
    add_late(tmp_path)
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            session = await open_in(server, client, agent="late", env={MARK: str(tmp_path)})
            task = await client.prompt(session, "work")
            await client.wait_task(task, "running")
        assert await server.stop() == 0
        (tmp_path / "data" / "agents" / "late.toml").unlink()
        await server.start()
        async with server.client() as client:
            done = await client.wait_task(task)
            assert (done["status"], done["error"]["code"]) == ("failed", "unknown_agent")
            assert "There is no agent 'late'" in done["error"]["message"]
            await wait_until_gone(server.data, tmp_path)


# Stops, ends and kills


async def test_simultaneous_stops_and_a_cancel(tmp_path: Path) -> None:
    """T6: Repeated stops, with and without a key, and a cancel in the meantime all get a proper answer."""
    now = add_late(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="late", env={MARK: str(tmp_path)})
        path = f"/api/sessions/{session}/stop"
        task = await client.prompt(session, "work")
        await client.wait_task(task, "running")
        async with client.events(session) as events, asyncio.TaskGroup() as group:
            first = group.create_task(client.post(path, {"idempotencyKey": "k"}))
            await events.until(lambda event: event.get("objectId") == task and event["data"]["status"] == "stopping")
            repeated = group.create_task(client.post(path, {"idempotencyKey": "k"}))
            second = group.create_task(client.post(path))
            delete = group.create_task(client.call("DELETE", f"/api/sessions/{session}"))
            await ended(events, session)
            now.touch()
        for stop in (first, repeated, second):
            assert (stop.result()["task"]["id"], stop.result()["task"]["status"]) == (task, "cancelled")
        assert delete.result()["status"] == "cancelled"
        later = await client.post(path, {"idempotencyKey": "k"})
        assert later["task"]["status"] == "cancelled"
        await wait_until_gone(server.data, tmp_path)


async def test_a_cancel_is_completed_by_the_next_server(tmp_path: Path) -> None:
    """T3, Q4: If a server is killed while a cancel waits for the agent, the next one ends the turn and the agent."""
    now = add_late(tmp_path)
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            session = await open_in(server, client, agent="late", env={MARK: str(tmp_path)})
            task = await client.prompt(session, "work")
            await client.wait_task(task, "running")
            async with client.events(session) as events:
                delete = asyncio.create_task(client.http.delete(f"/api/sessions/{session}"))
                await ended(events, session)
            await server.stop(signal.SIGKILL)
            await asyncio.wait((delete,))
            delete.exception()
        now.touch()
        await server.start()
        async with server.client() as client:
            assert (await client.wait_task(task))["status"] == "cancelled"
            await wait_until_gone(server.data, tmp_path)
            assert (await client.get(f"/api/sessions/{session}"))["status"] == "cancelled"


async def test_a_purge_removes_no_new_prompt(tmp_path: Path) -> None:
    """A1, Q4: A session that is resumed while its purge waits is not removed, and its prompt is answered."""
    now = add_late(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="late")
        old = await client.prompt(session, "work")
        await client.wait_task(old, "running")
        async with client.events(session) as events:
            purge = asyncio.create_task(client.http.delete(f"/api/sessions/{session}?purge=true"))
            await ended(events, session)
        prompt = await client.http.post(f"/api/sessions/{session}/prompt", json={"text": "quick", "resume": True})
        now.touch()
        removed = await purge
        assert (prompt.status_code, removed.status_code) == (202, 409), removed.text
        assert removed.json()["error"]["code"] == "session_busy"
        assert (await client.wait_task(prompt.json()["taskId"]))["status"] == "completed"
        assert (await client.get(f"/api/tasks/{old}"))["status"] == "cancelled"
        await client.call("DELETE", f"/api/sessions/{session}?purge=true")
        await client.get(f"/api/sessions/{session}", expect=404)


async def test_a_stream_of_messages_survives_restarts(tmp_path: Path) -> None:
    """L1, O2: Servers that are ended in the middle of many new messages exit with 0, and no message is missing or
    stored twice."""
    count, seen = 3000, 1
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            session = await open_in(server, client)
            task = await client.prompt(session, "[[say x]][[think y]]" * count)
        for _ in range(2):
            async with server.client() as client:
                seen = await grown(client, session, min(seen + 100, 2 * count))
            assert await server.stop() == 0
            await server.start()
        async with server.client() as client:
            done = await client.wait_task(task)
            assert (done["status"], done["attempt"]) == ("completed", 1)
            assert await client.texts(session) == ["x"] * count


async def test_a_late_commit_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1, O2: A server that ends between the commit of new messages and its acknowledgment knows that they are
    stored."""
    count = 60
    async with ending_keepers(tmp_path / "data"):
        async with serving(tmp_path, stop_agents=False) as server:
            session = await open_session(server)
            task = await server.client.prompt(session, "[[slow 1 0.02]][[think y]]" * count)
            seen = await grown(server.client, session, 3)
            detached = asyncio.Event()
            agents = server.services.runner.agents
            detach = agents.detach

            def detach_and_tell() -> None:
                detach()
                detached.set()

            monkeypatch.setattr(agents, "detach", detach_and_tell)
            hold_answers(server.services.store.db, detached)
            await grown(server.client, session, seen)
        async with serving(tmp_path) as server:
            done = await server.client.wait_task(task)
            assert (done["status"], done["attempt"]) == ("completed", 1)
            assert await server.client.texts(session) == ["tick 1"] * count
