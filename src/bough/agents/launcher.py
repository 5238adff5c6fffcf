"""Defines how the core starts agents and finds them again. `keeper.keeper_launcher` implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bough.agents.link import Link


class Launcher(Protocol):
    """Starts agents by name, and finds them by name after a restart of the server."""

    async def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        box: Sequence[str] = (),
        network: Mapping[str, Any] | None = None,
    ) -> Link:
        """Starts an agent behind the words of its box, if it has one, and the proxy of the box with the settings in
        `network`. Raises `AgentFailed` (`agent_missing`) if it cannot be started."""
        ...

    async def attach(self, name: str, last: int) -> Link:
        """Returns a link to an agent that was started earlier, which delivers the lines after `last`.

        If the agent is dead, ends everything that it left running first. The link then delivers its last lines.
        """
        ...

    async def drop(self, name: str) -> None:
        """Ends what is left of an agent and forgets it."""
        ...

    def names(self) -> list[str]:
        """Returns the names of all agents that were started and not dropped."""
        ...
