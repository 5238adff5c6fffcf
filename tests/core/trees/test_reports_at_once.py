"""Tests that an ended task of a child and its report are stored together, whatever fails or dies, and that each report
is delivered once (Q3, Q4). The kill tests kill at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from bough.errors import Unavailable
from bough.storage.backend import Backend, Tx
from tests.core.trees.tree_helpers import answer, branch, contents, grove, rested
from tests.support.client import PATIENCE, Client
from tests.support.faults.crashing_server import WatchingTx
from tests.support.repos import make_repo
from tests.support.server import ServerProcess


@contextlib.contextmanager
def failing_commits(db: Backend, query: str, times: int) -> Generator[asyncio.Event]:
    """Makes the first transactions that ran a query fail just before they would commit."""
    original: Callable[..., Awaitable[Any]] = db.transaction
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    remaining = times

    async def spoilt(work: Callable[[Tx], Awaitable[Any]]) -> Any:
        async def spoilt_work(tx: Tx) -> Any:
            nonlocal remaining
            watched = WatchingTx(tx)
            result = await work(watched)
            if query in watched.ran and remaining:
                remaining -= 1
                if not remaining:
                    # SQLite runs transactions in a separate thread.
                    loop.call_soon_threadsafe(over.set)
                raise Unavailable("database_busy", "The database is busy; try again.")
            return result

        return await original(spoilt_work)

    setattr(db, "transaction", spoilt)  # noqa: B010 - a protocol's method is not assigned to
    try:
        yield over
    finally:
        setattr(db, "transaction", original)  # noqa: B010
    assert remaining == 0


async def failed(over: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE):
        await over.wait()


async def test_an_end_that_cannot_be_stored_is_not_reported(tmp_path: Path, database_url: str) -> None:
    """Q3: If the transaction fails, neither the end nor its report is stored; later both are, once."""
    async with grove(tmp_path, database=database_url) as trees:
        parent = await trees.root()
        with failing_commits(trees.server.services.store.db, "add_callback", 3) as over:
            _, task = await trees.spawn(parent, "[[say x]]")
            await failed(over)
        await trees.rested(parent, 1)
        [report] = await trees.callbacks(parent)
        assert (report.child_task_id, report.state) == (task, "delivered")
        assert len(await trees.contents(parent, "callback")) == 1


async def test_a_queue_that_cannot_be_cancelled_is_not_reported(tmp_path: Path) -> None:
    """Q3: Many tasks that end at once are stored with all reports or not at all."""
    async with grove(tmp_path) as trees:
        parent = await trees.root()
        child, task = await trees.spawn(parent, "[[hang]]")
        await trees.client.wait_task(task, "running")
        queued = [await trees.client.prompt(child, f"[[say {n}]]") for n in range(3)]
        with failing_commits(trees.server.services.store.db, "add_callback", 1):
            await trees.client.call("DELETE", f"/api/sessions/{child}", expect=503)
        assert (await trees.callbacks(parent), (await trees.get(child))["status"]) == ([], "active")
        assert [item["status"] for item in await trees.tasks(child)] == ["running", *["queued"] * 3]
        await trees.client.call("DELETE", f"/api/sessions/{child}")
        await trees.rested(parent, 4)
        reports = await trees.callbacks(parent)
        assert [report.child_task_id for report in reports[:3]] == queued and len(reports) == 4


async def check(client: Client, parent: str, child: str, task: str) -> None:
    """Checks that the child's only end was reported to the parent once."""
    assert (await client.wait_task(task))["status"] == "completed"
    [report] = await rested(client, parent, 1)
    assert (report["source"], report["sourceSessionId"], report["status"]) == ("callback", child, "completed")
    assert len(await contents(client, parent, "callback")) == 1


@pytest.mark.parametrize("where", ["inside:add_callback", "after:add_callback"])
async def test_a_killed_server_reports_once(tmp_path: Path, where: str) -> None:
    """Q4: Killed in the transaction of the end, or right after it; the next server ends the task or delivers the
    report."""
    server = ServerProcess(
        tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server", env={"CRASH": where}
    )
    async with server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            parent = (await client.session(repo["id"]))["id"]
            child, task = await branch(client, "spawn", parent, "[[say x]]")
        assert server.process is not None
        async with asyncio.timeout(PATIENCE):
            assert await server.process.wait() == -signal.SIGKILL
        server.env, server.module = {}, "bough"
        await server.start()
        async with server.client() as client:
            await check(client, parent, child, task)


async def test_a_killed_server_recovers_its_state(tmp_path: Path) -> None:
    """Q4: A held report, a question about a limit and an undelivered answer survive a kill -9."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work", ("--max-unattended", "1")) as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            ended = (await client.session(repo["id"]))["id"]
            child, task = await branch(client, "spawn", ended, "[[hang]]")
            await client.wait_task(task, "running")
            await client.post(f"/api/sessions/{ended}/complete")
            await client.post(f"/api/sessions/{child}/stop")
            parent = (await client.session(repo["id"]))["id"]
            _, first = await branch(client, "spawn", parent, "[[say one]]")
            second, _ = await branch(client, "spawn", parent, "[[say two]]")
            question = await client.approval(parent)
            assert question["toolKind"] == "limit"
            other = (await client.session(repo["id"]))["id"]
            _, aside = await branch(client, "btw", other, "[[say grey]]")
            await answer(client, aside)
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            [shown] = await contents(client, ended, "callback")
            assert shown["sessionId"] == child
            assert (await client.get(f"/api/sessions/{ended}/tasks"))["total"] == 0
            assert (await client.get(f"/api/approvals/{question['id']}"))["status"] == "pending"
            await client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
            tasks = await rested(client, parent, 2)
            assert [item["status"] for item in tasks] == ["completed"] * 2
            assert {item["sourceSessionId"] for item in tasks} >= {second} and first
            assert (await answer(client, await client.prompt(other, "[[recall]]"))).count("> grey") == 1
