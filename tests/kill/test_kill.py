"""Q3, Q4, O2: Whatever is killed with -9, and whenever, no acknowledged prompt, branch, report or answer is lost, and
none is sent twice to a living agent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.kill.calls import check_calls
from tests.kill.check_sessions import check_sessions
from tests.kill.check_trees import check_trees
from tests.kill.kill_run import KillRun, processes
from tests.support.postgres_proxy import PostgresProxy

# `make test-kill ROUNDS=500 SEED=7` runs it for longer.
ROUNDS = int(os.environ.get("ROUNDS") or 4)
SEED = int(os.environ.get("SEED") or 1)


@pytest.fixture
async def run(tmp_path: Path, database_url: str) -> AsyncGenerator[KillRun]:
    async with contextlib.AsyncExitStack() as stack:
        proxy, flags = None, ()
        if database_url.startswith("postgres"):
            proxy = await stack.enter_async_context(PostgresProxy(database_url).running())
            flags = ("--database", proxy.url)
        run = KillRun(tmp_path, SEED, ROUNDS, flags, proxy)
        await stack.enter_async_context(run.server)
        yield run


@pytest.mark.timeout(300 + 60 * ROUNDS)
async def test_nothing_is_lost_and_nothing_is_done_twice(run: KillRun) -> None:
    """Q3, Q4, B1–B6, T3, O2: Prompts, approvals, transcripts, branches with their worktrees, reports, side answers and
    cascades survive kills of server, keepers and agents."""
    await run.play()
    async with run.server.client() as client:
        await check_sessions(run, client)
        await check_trees(run, client)
        await check_calls(run.callers, client)
    assert await run.server.stop() == 0
    assert processes(run.server.data) == {"agent": [], "keeper": []}, "somebody was left behind"
