"""T3, T4, T6 in trees: what becomes of parents and children when one of them is stopped, ended, or idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.store.sql import SESSIONS
from bough.model.session import Session
from bough.model.times import after

from .kit import Grove, answer, grove

# A twentieth of a second, in minutes.
SOON = 0.05 / 60


async def idle(trees: Grove) -> set[str]:
    """Whose idle clock would have run out by tomorrow."""
    tomorrow = after(86_400)
    found = await trees.server.services.store.read(
        lambda tx: tx.all(SESSIONS.idle, Session, before=tomorrow, limit=100)
    )
    return {item.id for item in found}


@pytest.mark.parametrize("kind", ["fork", "spawn", "btw"])
async def test_nobody_times_out_above_a_running_turn(tmp_path: Path, database_url: str, kind: str) -> None:
    """T4: a running descendant of any kind and depth keeps those above it; the fork of a child does too."""
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
    """T4: when all is quiet everybody is completed, and nobody before."""
    async with grove(tmp_path, idle_timeout=SOON) as trees:
        root = await trees.root()
        child, task = await trees.spawn(root, "[[slow 10 0.5]]")
        assert "tick 10" in await answer(trees.client, task)
        [told] = await trees.rested(root, 1)
        assert told["status"] == "completed"

        async def quiet() -> bool:
            return all([(await trees.get(item))["status"] == "completed" for item in (root, child)])

        await trees.client.eventually(quiet)
        assert {(await trees.get(item))["metadata"]["reason"] for item in (root, child)} == {"idle_timeout"}


async def test_stopping_a_parent_leaves_its_children(tmp_path: Path) -> None:
    """T6: one turn is stopped, and no other; what the children report waits until the queue moves."""
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
    """T6: refused while it waits; forced, the report is held; the children go on."""
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
        # Resumed, it is not told what was kept from it; it can be read.
        await trees.client.prompt(root, "[[say on]]", resume=True)
        ended = await trees.rested(root, 3)
        assert [item["status"] for item in ended] == ["cancelled", "cancelled", "completed"]
        assert len(await trees.contents(root, "callback")) == 2


async def test_a_child_that_was_never_told_anything_is_told_all_after_a_death(tmp_path: Path) -> None:
    """B1, Q4: a fork whose agent died before it was sent anything knows the past all the same."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        await trees.say(parent, "one heron")
        fork, _ = await trees.fork(parent)

        async def opened() -> None:
            # As if its agent had opened a conversation, and died before it was used.
            other = await trees.root()
            await trees.say(other, "[[say x]]")
            store = trees.server.services.store
            known = await store.read(lambda tx: tx.value(SESSIONS.agent_session, id=other))
            await store.write(lambda change: change.tx.run(SESSIONS.set_agent_session, id=fork, agent_session_id=known))

        await opened()
        assert "one heron" in await trees.say(fork, "[[recall]]")
