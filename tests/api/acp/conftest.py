"""Starts a server with one editor connected."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.api.acp.editor_client import Editor, editing
from tests.support.server import Running


@pytest.fixture
async def editor(server: Running) -> AsyncGenerator[Editor]:
    async with editing(server) as editor:
        yield editor
