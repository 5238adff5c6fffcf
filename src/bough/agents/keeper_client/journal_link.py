"""Links to a living agent whose keeper speaks another version of the protocol.

The agent's output is read from the journal, so that its turn can finish. Nothing can be sent to it: an attempt ends it.
"""

import asyncio
from collections.abc import Generator
from pathlib import Path

from bough.agents.errors import AgentGone, command_name
from bough.agents.keeper import process_tree
from bough.agents.keeper.frames import VERSION
from bough.agents.keeper_client import keeper_folder, orphans
from bough.agents.keeper_client.keeper_folder import AgentEnd, KeeperInfo, Tail
from bough.agents.link import END_GRACE, AgentExit, LineBatch, LinkClosed
from bough.agents.wait_shielded import shielded

POLL = 0.1
"""Seconds between reads of the journal, whose growth is not announced. A turn that ends this late is rare."""


class JournalLink:
    """Delivers the lines in the journal of a keeper of another version."""

    def __init__(self, folder: Path, about: KeeperInfo, last: int) -> None:
        self.command = tuple(about.command)
        self.pid = about.agent.pid
        self._folder = folder
        self._about = about
        self._tail = Tail(folder, last)
        self._batches: Generator[LineBatch] | None = None
        self._sent = keeper_folder.read_sent(folder)
        self._told_missing = False
        self._closed = asyncio.Event()
        self._ending: asyncio.Task[AgentExit] | None = None

    async def receive(self) -> LineBatch:
        while True:
            # Checked first, so that everything written before the end is read.
            ended = self._closed.is_set() or self._ended() is not None or not process_tree.alive(self._about.keeper)
            self._batches = self._batches or self._tail.read()
            batch = await asyncio.to_thread(next, self._batches, None)
            if batch is not None:
                return batch
            self._batches = None
            if ended:
                missing = [] if self._told_missing else list(self._tail.missing_at_end(self._ended()))
                self._told_missing = True
                for batch in missing:
                    return batch
                raise LinkClosed(self._exit())
            await self._pause()

    async def send(self, line: bytes, key: str) -> bool:
        """Returns False for a line that was sent before. Gives up the agent for any other, since it cannot be sent."""
        if key in self._sent:
            return False
        self._closed.set()
        raise AgentGone(
            "keeper_version",
            f"Nothing can be sent to {command_name(self.command)}: its keeper speaks version {self._about.version} of "
            f"its protocol, and this server version {VERSION}. It is ended and replaced.",
            command=list(self.command),
        )

    def confirm(self, number: int) -> None:
        """Does nothing: the keeper cannot be told, and its journal grows until the turn ends."""

    def forget(self, prefix: str) -> None:
        """Closes the link: the turn has ended, and the agent cannot take another prompt."""
        self._closed.set()

    def stderr_tail(self) -> str:
        return self._exit().stderr

    async def end(self, grace: float = END_GRACE) -> AgentExit:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name=f"agent {self.pid} end")
        return await shielded(self._ending)

    async def leave(self) -> None:
        self._closed.set()

    async def _end(self) -> AgentExit:
        await orphans.end_keeper(self._folder)
        return self._exit()

    def _ended(self) -> AgentEnd | None:
        return keeper_folder.read_end(self._folder)

    def _exit(self) -> AgentExit:
        ended = self._ended()
        return ended.exit if ended is not None else AgentExit(code=None, signal=None, stderr="")

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(POLL):
                await self._closed.wait()
        except TimeoutError:
            return
