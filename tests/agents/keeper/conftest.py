"""Gives each test a folder for keepers, and runs the tests of the link on both event loops, the others on uvloop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path

import pytest
import uvloop

from tests.agents.keeper.keeper_peers import Keepers


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"uvloop": uvloop.new_event_loop}
    if item.path.name == "test_keeper_link.py":
        loops["asyncio"] = asyncio.new_event_loop
    return loops


@pytest.fixture
async def keepers(tmp_path: Path) -> AsyncGenerator[Keepers]:
    keepers = Keepers(tmp_path / "keepers")
    yield keepers
    await keepers.close()
