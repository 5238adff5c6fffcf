"""Fixtures for the demo agent's tests: a folder for its sessions, a working directory and a running agent."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.agents.demo.driver import Driver


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
async def agent(home: Path) -> AsyncGenerator[Driver]:
    async with Driver.start(home) as driver:
        yield driver
