"""Gives tests of keepers a folder for them; the keepers end with the test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.agents.keeper_peers import Keepers


@pytest.fixture
async def keepers(tmp_path: Path) -> AsyncGenerator[Keepers]:
    keepers = Keepers(tmp_path / "keepers")
    yield keepers
    await keepers.close()
