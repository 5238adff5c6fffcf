"""Tests what happens to parents and children when one of them is stopped, ended or idle (T3, T4, T6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.store.sql import SESSIONS
from bough.model.session import Session
from bough.model.values.times import after
from tests.core.trees.tree_helpers import Grove, answer, grove

# In minutes, a twentieth of a second.
SOON = 0.05 / 60


async def idle(trees: Grove) -> set[str]:
    """Returns the sessions whose idle timeout would have passed by tomorrow."""
    tomorrow = after(86_400)
    rows = await trees.server.services.store.read(lambda tx: tx.all(SESSIONS.idle, Session, before=tomorrow, limit=100))
    return {item.id for item in rows}


@pytest.mark.parametrize("kind", ["fork", "spawn", "btw"])
async def test_nobody_times_out_above_a_running_turn(tmp_path: Path, database_url: str, kind: str) -> None:
    """T4: A running descendant of any kind and depth, including the fork of a child, keeps those above it active."""
    async with grove(tmp_path, database=database_url) as trees:
        root = await trees.root()
        other = await trees.root()
        middle, _ = await trees.fork(root)
        make = {"fork": trees.fork, "spawn": trees.spawn, "btw": trees.btw}[kind]
        lowest, task = await make(middle, "[[hang]]")
        await trees.client.wait_task(task, "running")
        assert await idle(trees) == {other}
        await trees.client.call("DELETE", f"/api/sessions/{lowest}")
        await trees.client.wait_task(task)
        if kind == "spawn":
            await trees.rested(middle, 1)
        assert await idle(trees) == {other, root, middle}


async def test_a_tree_times_out_from_below(tmp_path: Path) -> None:
    """T4: When a whole tree is idle, all its sessions are completed, and none before."""
    async with grove(tmp_path, idle_timeout=SOON) as trees:
        root = await trees.root()
        child, task = await trees.spawn(root, "[[slow 10 0.5]]")
        assert "tick 10" in await answer(trees.client, task)
        [report] = await trees.rested(root, 1)
        assert report["status"] == "completed"

        async def quiet() -> bool:
            return all([(await trees.get(item))["status"] == "completed" for item in (root, child)])

        await trees.client.eventually(quiet)
        assert {(await trees.get(item))["metadata"]["reason"] for item in (root, child)} == {"idle_timeout"}


async def test_stopping_a_parent_leaves_its_children(tmp_path: Path) -> None:
    """T6: Stops only one turn; the children's reports wait until the queue continues."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        running = await trees.client.prompt(root, "[[hang]]")
        await trees.client.wait_task(running, "running")
        child, task = await trees.spawn(root, "[[slow 2 0.5]] [[say done]]")
        await trees.client.post(f"/api/sessions/{root}/stop")
        assert "done" in await answer(trees.client, task)
        assert (await trees.get(child))["status"] == "active"
        assert [item["status"] for item in await trees.tasks(root)] == ["cancelled", "queued"]
        await trees.say(root, "[[say go on]]")
        await trees.rested(root, 3)


async def test_completing_a_parent_with_a_report_in_its_queue(tmp_path: Path) -> None:
    """T6: Refused while the report is queued; if forced, the report is held and the children continue."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        running = await trees.client.prompt(root, "[[hang]]")
        await trees.client.wait_task(running, "running")
        _, task = await trees.spawn(root, "[[say x]]")
        await answer(trees.client, task)
        busy, other = await trees.spawn(root, "[[hang]]")
        await trees.client.wait_task(other, "running")
        error = await trees.refused(f"{root}/complete", {})
        assert error["code"] == "session_busy"
        await trees.client.post(f"/api/sessions/{root}/complete", {"force": True})
        assert (await trees.get(busy))["activity"] == "running"
        await trees.client.post(f"/api/sessions/{busy}/stop")
        assert [callback.state for callback in await trees.callbacks(root)] == ["held", "held"]
        # After a resume the held report is not delivered, but can be read.
        await trees.client.prompt(root, "[[say on]]", resume=True)
        ended = await trees.rested(root, 3)
        assert [item["status"] for item in ended] == ["cancelled", "cancelled", "completed"]
        assert len(await trees.contents(root, "callback")) == 2


async def test_a_fork_whose_agent_died_early_gets_the_transcript(tmp_path: Path) -> None:
    """B1, Q4: A fork whose agent died before its first prompt still learns the conversation."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        await trees.say(parent, "one heron")
        fork, _ = await trees.fork(parent)

        async def opened() -> None:
            # As if its agent had opened a conversation and died before using it.
            other = await trees.root()
            await trees.say(other, "[[say x]]")
            store = trees.server.services.store
            agent_session = await store.read(lambda tx: tx.value(SESSIONS.agent_session, id=other))
            await store.write(
                lambda change: change.tx.run(SESSIONS.set_agent_session, id=fork, agent_session_id=agent_session)
            )

        await opened()
        assert "one heron" in await trees.say(fork, "[[recall]]")
