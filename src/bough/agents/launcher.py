"""How agents come up and are found again, as the core asks for it. Keepers answer it in service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bough.agents.link import Link


class Launcher(Protocol):
    """Starts agents under a name, and finds them under it after a restart of the server."""

    async def start(self, name: str, command: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Link:
        """Starts an agent; AgentFailed("agent_missing") when there is nothing to start."""
        ...

    async def attach(self, name: str, last: int) -> Link:
        """A link to an agent that was started earlier, from the line after `last` on.

        If it is dead, everything that it left running is ended first, and the link gives what it had still to say.
        """
        ...

    async def drop(self, name: str) -> None:
        """Ends what is left of an agent, if anything is, and forgets it."""
        ...

    def names(self) -> list[str]:
        """All agents that were started and not dropped."""
        ...
