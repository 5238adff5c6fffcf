"""Starts a server and runs commands on it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import structlog

from tests.api.cli.cli_program import PATIENCE, Cli, Result, end_left, run_here
from tests.support.server import Running


@pytest.fixture(autouse=True)
async def programs() -> AsyncGenerator[None]:
    """Leaves no program behind, also if the test fails."""
    yield
    await end_left()


@pytest.fixture
async def cli(server: Running, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Cli]:
    """Runs commands in this process against the server, in a thread beside its event loop."""
    monkeypatch.setenv("BOUGH_DATA", str(server.data))
    # The server runs in this process and logs to sys.stdout, which is the command's output for the moment.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

    async def call(*arguments: str, stdin: str = "") -> Result:
        async with asyncio.timeout(PATIENCE):
            return await asyncio.to_thread(run_here, list(arguments), stdin)

    yield call
    structlog.reset_defaults()


@pytest.fixture
async def session(server: Running) -> dict[str, Any]:
    """A session with the demo agent in a new repository."""
    repo = await server.client.repo(server.repo())
    return await server.client.session(repo["id"], title="first")
