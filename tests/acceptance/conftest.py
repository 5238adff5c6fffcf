"""Runs the acceptance tests on both databases, because the same promises hold on either."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.support.server import Running, serving


@pytest.fixture
async def server(tmp_path: Path, database_url: str) -> AsyncGenerator[Running]:
    async with serving(tmp_path, database=database_url) as running:
        yield running
