"""Fixtures for the terminal agent's tests: a folder for its sessions, a working directory and a running agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.agents.terminal.terminals import Terminal


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
async def terminal(home: Path) -> AsyncGenerator[Terminal]:
    async with Terminal.start(home) as started:
        yield started
