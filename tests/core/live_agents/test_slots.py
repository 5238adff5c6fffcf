"""Tests slots, suspension and the idle timeout."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bough.core.live_agents.agent import Agent
from tests.core.helpers import add_agent, open_session
from tests.support.eventually import eventually
from tests.support.server import Running, serving


def watch_agents(server: Running) -> list[int]:
    """Returns the number of agents after each one that is added, from now on."""
    counts: list[int] = []

    class Counting(dict[str, Agent]):
        def __setitem__(self, session_id: str, agent: Agent) -> None:
            super().__setitem__(session_id, agent)
            counts.append(len(self))

    server.services.runner.agents._agents = Counting()  # pyright: ignore[reportPrivateUsage]
    return counts


async def test_no_more_agents_than_slots(tmp_path: Path) -> None:
    """T5: With two slots, five sessions all finish, and there are never more than two agents at once."""
    async with serving(tmp_path, max_agents=2, max_sessions=10) as server:
        client = server.client
        counts = watch_agents(server)
        sessions = [await open_session(server) for _ in range(5)]
        tasks = [await client.prompt(session, "[[slow 3 0.2]]") for session in sessions]
        ended = await asyncio.gather(*(client.wait_task(task) for task in tasks))
        assert [task["status"] for task in ended] == ["completed"] * 5
        assert max(counts) == 2


async def test_a_turn_that_waits_for_approval_lends_its_slot(tmp_path: Path) -> None:
    """T5: While the holder of the only slot waits for an approval, another session runs."""
    async with serving(tmp_path, max_agents=1) as server:
        client = server.client
        waiting, other = await open_session(server, permissionMode="ask"), await open_session(server)
        task = await client.prompt(waiting, "[[run true]]")
        approval = await client.approval(waiting)
        assert (await client.ask(other, "hello"))["status"] == "completed"
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        assert (await client.wait_task(task))["status"] == "completed"


async def test_an_agent_that_cannot_resume_keeps_its_slot(tmp_path: Path) -> None:
    """T5: Suspends only agents whose resume is proven."""
    add_agent(tmp_path, "forgetful", ["{python}", "-m", "bough.agents.demo", "--without", "load,resume"])
    async with serving(tmp_path, max_agents=1) as server:
        client = server.client
        awake, waiting = await open_session(server, agent="forgetful"), await open_session(server)
        await client.ask(awake, "hello")
        task = await client.prompt(waiting, "hello")
        await server.services.scheduler.start_turns()
        assert (await client.get(f"/api/tasks/{task}"))["status"] == "queued"
        await client.post(f"/api/sessions/{awake}/complete")
        assert (await client.wait_task(task))["status"] == "completed"


async def test_trees_take_turns(tmp_path: Path) -> None:
    """T5: A session with a long queue does not keep another one waiting until it is done."""
    async with serving(tmp_path, max_agents=1) as server:
        client = server.client
        long, short = await open_session(server), await open_session(server)
        queue = [await client.prompt(long, "[[slow 2 0.1]]") for _ in range(4)]
        single = await client.prompt(short, "hello")
        await client.wait_task(single)
        assert (await client.get(f"/api/tasks/{queue[-1]}"))["status"] == "queued"


async def test_a_suspended_agent_wakes_with_its_conversation(tmp_path: Path) -> None:
    """T5: Ends the process of an idle agent; the next prompt wakes it with its conversation."""
    async with serving(tmp_path, sleep_after=0.05) as server:
        client = server.client
        session = await open_session(server)
        await client.ask(session, "remember the word heron")
        await gone(server, session)
        state = await client.get(f"/api/sessions/{session}")
        assert (state["status"], state["activity"]) == ("active", "idle")
        await client.ask(session, "[[recall]]")
        assert "remember the word heron" in (await client.texts(session))[-1]


async def test_the_idle_timeout_completes_a_session(tmp_path: Path) -> None:
    """T4: The session is completed with the reason in its metadata, its process ends, and a prompt with resume wakes
    it."""
    async with serving(tmp_path, idle_timeout=0.2 / 60) as server:
        client = server.client
        # With its prompt from the start, it is never idle before.
        session = await open_session(server, initialPrompt="remember the word heron")
        async with client.events(session, 0) as events:
            event = await events.until(
                lambda event: event["type"] == "session.patched" and event["data"]["status"] == "completed"
            )
        assert event["data"]["metadata"]["reason"] == "idle_timeout"
        await gone(server, session)
        task = await client.wait_task(await client.prompt(session, "[[recall]]", resume=True))
        assert task["status"] == "completed"
        assert "remember the word heron" in (await client.texts(session))[-1]


async def test_the_idle_timeout_waits_for_work(tmp_path: Path) -> None:
    """T4: Neither an open approval, nor a paused queue, nor a running turn times out."""
    async with serving(tmp_path, idle_timeout=0.1 / 60) as server:
        client = server.client
        # With a prompt from the start, none is idle before.
        asking = await open_session(server, permissionMode="ask", initialPrompt="[[run true]]")
        await client.approval(asking)
        running = await open_session(server, initialPrompt="[[hang]]")
        paused = await open_session(server, initialPrompt="[[hang]]")
        await client.prompt(paused, "later")
        await client.post(f"/api/sessions/{paused}/stop")
        bystander = await open_session(server)
        async with client.events(bystander, 0) as events:
            await events.until(lambda event: event.get("data", {}).get("status") == "completed")
        await server.services.maintenance.run_once()
        for session in (asking, running, paused):
            assert (await client.get(f"/api/sessions/{session}"))["status"] == "active"


async def gone(server: Running, session: str) -> None:
    """Waits until a session has no process."""
    await eventually(lambda: session not in server.services.runner.agents, "the session has no process")
