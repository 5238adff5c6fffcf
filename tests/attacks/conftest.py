"""Serves agents in sandboxes for attacks on them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.attacks.sandbox.box_agents import Boxed, make_home
from tests.support.server import serving


@pytest.fixture
async def boxed(tmp_path: Path) -> AsyncGenerator[Boxed]:
    async with serving(tmp_path, sandbox="required") as server:
        repo = server.repo()
        row = await server.client.repo(repo)
        yield Boxed(server, make_home(tmp_path / "home"), repo, row["id"])
