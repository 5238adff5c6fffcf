"""The link to a living agent whose keeper speaks another version of the protocol: what the agent says is read from the
journal, so that its turn can come to its end; what must be said to it ends it. It leaves keepers that can be talked to
to `link`, and dead ones to `remains`."""

import asyncio
from collections.abc import Generator
from pathlib import Path

from bough.agents.errors import AgentGone, command_name
from bough.agents.keeper import orphans, process_tree
from bough.agents.keeper.frames import VERSION
from bough.agents.keeper.orphans import About, Ended, Tail
from bough.agents.link import END_GRACE, Batch, Exit, LinkClosed
from bough.agents.shield import shielded

POLL = 0.1
"""Seconds between looks at the journal: nobody says when it grows, and a turn that ends so late is rare."""


class JournalLink:
    """Lines from the journal of a keeper that cannot be talked to."""

    def __init__(self, folder: Path, about: About, last: int) -> None:
        self.command = tuple(about.command)
        self.pid = about.agent.pid
        self._folder = folder
        self._about = about
        self._tail = Tail(folder, last)
        self._batches: Generator[Batch] | None = None
        self._sent = orphans.read_sent(folder)
        self._closed = asyncio.Event()
        self._ending: asyncio.Task[Exit] | None = None

    async def receive(self) -> Batch:
        while True:
            # Looked at first: what was written before that is then certainly read.
            over = self._closed.is_set() or self._ended() is not None or not process_tree.alive(self._about.keeper)
            self._batches = self._batches or self._tail.read()
            batch = await asyncio.to_thread(next, self._batches, None)
            if batch is not None:
                return batch
            self._batches = None
            if over:
                raise LinkClosed(self._exit())
            await self._pause()

    async def send(self, line: bytes, key: str) -> bool:
        """What was sent before is known. For anything else this agent has to be given up, since it cannot be told."""
        if key in self._sent:
            return False
        self._closed.set()
        raise AgentGone(
            "keeper_version",
            f"Nothing can be said to {command_name(self.command)}: its keeper speaks version {self._about.version} of "
            f"its protocol, this server version {VERSION}. It is ended, and another one goes on.",
            command=list(self.command),
        )

    def confirm(self, number: int) -> None:
        """It cannot be told; its journal grows until the turn ends."""

    def forget(self, prefix: str) -> None:
        """Its turn is over: from here on there is nothing that it could be of use for."""
        self._closed.set()

    def stderr_tail(self) -> str:
        return self._exit().stderr

    async def end(self, grace: float = END_GRACE) -> Exit:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name=f"agent {self.pid} end")
        return await shielded(self._ending)

    async def leave(self) -> None:
        self._closed.set()

    async def _end(self) -> Exit:
        await orphans.end_keeper(self._folder)
        return self._exit()

    def _ended(self) -> Ended | None:
        return orphans.read_ended(self._folder)

    def _exit(self) -> Exit:
        ended = self._ended()
        return ended.exit if ended is not None else Exit(code=None, signal=None, stderr="")

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(POLL):
                await self._closed.wait()
        except TimeoutError:
            return
