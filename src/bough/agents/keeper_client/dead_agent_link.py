"""Links to an agent that is dead, to deliver the rest of its journal."""

from __future__ import annotations

from pathlib import Path

from bough.agents.keeper_client import keeper_folder
from bough.agents.link import END_GRACE, AgentExit, LineBatch, LinkClosed


class DeadAgentLink:
    """Delivers the lines that were journalled and not stored yet, then reports how the agent ended."""

    def __init__(self, folder: Path, last: int) -> None:
        about = keeper_folder.read_info(folder)
        self.command: tuple[str, ...] = tuple(about.command) if about is not None else ("agent",)
        self.pid = about.agent.pid if about is not None else 0
        ended = keeper_folder.read_end(folder)
        self._exit = ended.exit if ended is not None else AgentExit(code=None, signal=None, stderr="")
        self._batches = keeper_folder.read_batches(folder, last)
        self._sent = keeper_folder.read_sent(folder)

    async def receive(self) -> LineBatch:
        batch = next(self._batches, None)
        if batch is None:
            raise LinkClosed(self._exit)
        return batch

    async def send(self, line: bytes, key: str) -> bool:
        """Reports a line as sent, though no agent takes it. The sender learns that when it has read everything."""
        return key not in self._sent

    def confirm(self, number: int) -> None:
        """Does nothing: the journal is no longer needed."""

    def forget(self, prefix: str) -> None:
        """Does nothing: there is no keeper to forget keys."""

    def stderr_tail(self) -> str:
        return self._exit.stderr

    async def end(self, grace: float = END_GRACE) -> AgentExit:
        return self._exit

    async def leave(self) -> None:
        """Does nothing: there is no keeper to leave."""
