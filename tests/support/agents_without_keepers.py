"""Starts agents without keepers, which end with this process: the floor against which benchmarks measure keepers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bough.agents.errors import AgentGone
from bough.agents.link import Link
from bough.agents.process.process_link import start_process


class Processes:
    """A launcher whose agents cannot be found again."""

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
        assert network is None, "Without a keeper there is no proxy."
        return await start_process([*box, *command], cwd=cwd, env=env)

    async def attach(self, name: str, last: int) -> Link:
        raise AgentGone("agent_gone", f"The agent {name} ended with the server that started it.")

    async def drop(self, name: str) -> None:
        """Does nothing: a process that ended with its server leaves nothing behind."""

    def names(self) -> list[str]:
        return []
