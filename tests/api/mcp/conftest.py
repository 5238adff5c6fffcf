"""Starts a server, and a client that calls its tools as a person."""

from __future__ import annotations

import pytest

from tests.api.mcp.mcp_client import Mcp, person
from tests.support.server import Running


@pytest.fixture
def mcp(server: Running) -> Mcp:
    """Calls the tools as a person."""
    return person(server)
