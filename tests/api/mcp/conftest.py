"""Starts a server and a person who calls its tools."""

from __future__ import annotations

import pytest

from tests.api.mcp.mcp_client import Mcp, person
from tests.support.server import Running


@pytest.fixture
def mcp(server: Running) -> Mcp:
    """The tools, for a person."""
    return person(server)
