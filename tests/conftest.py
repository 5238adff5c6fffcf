"""Fixtures that every suite may use."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.testing.server import Running, serving


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Running]:
    """A whole server with default settings, in this process."""
    async with serving(tmp_path) as running:
        yield running
