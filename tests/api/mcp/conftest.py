"""What all suites of the tools begin with: a server, and somebody who calls its tools as a person."""

from __future__ import annotations

import pytest

from tests.api.mcp.mcp_kit import Mcp, person
from tests.support.server import Running


@pytest.fixture
def mcp(server: Running) -> Mcp:
    """The tools, for a person."""
    return person(server)
