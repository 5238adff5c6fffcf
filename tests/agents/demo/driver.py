"""Runs the demo agent as a process that tests talk to."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Self

from tests.support.acp import acp_driver
from tests.support.acp.acp_driver import Json, Refused

__all__ = ["Driver", "Json", "Refused"]


class Driver(acp_driver.Driver):
    """One process of the demo agent and everything that it has sent so far."""

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, home: Path, *args: str, initialize: bool = True) -> AsyncGenerator[Self]:
        """Starts the agent. At the end it closes the agent's input, which must end an agent that still runs."""
        async with cls.launch("bough.agents.demo", "--home", str(home), *args, initialize=initialize) as driver:
            yield driver
