"""Q3, Q4, O2: whatever is killed with -9, whenever, no acknowledged prompt, branch, report or answer is lost, and none
is sent twice to a living agent."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from .calls import check_calls
from .calm import check
from .storm import Storm, processes
from .trees import check_trees

# `make test-kill ROUNDS=500 SEED=7` for more than the ordinary run.
ROUNDS = int(os.environ.get("ROUNDS") or 4)
SEED = int(os.environ.get("SEED") or 1)


@pytest.fixture
async def storm(tmp_path: Path, database_url: str) -> AsyncGenerator[Storm]:
    flags = ("--database", database_url) if database_url.startswith("postgres") else ()
    storm = Storm(tmp_path, SEED, ROUNDS, flags)
    async with storm.server:
        yield storm


@pytest.mark.timeout(120 + 15 * ROUNDS)
async def test_nothing_is_lost_and_nothing_is_done_twice(storm: Storm) -> None:
    """Q3, Q4, B1–B6, T3, O2: prompts, approvals, transcripts, branches and their worktrees, reports, answers aside and
    cascades survive kills of server, keepers and agents."""
    await storm.blow()
    async with storm.server.client() as client:
        await check(storm, client)
        await check_trees(storm, client)
        await check_calls(storm.callers, client)
    assert await storm.server.stop() == 0
    assert processes(storm.server.data) == {"agent": [], "keeper": []}, "somebody was left behind"
