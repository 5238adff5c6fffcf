"""Keepers as the core asks for them: started, found again, dropped, by name. Each has a folder of its own.
It leaves the links themselves to `link`, `follower` and the remains of the dead."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from bough.agents.keeper import orphans
from bough.agents.keeper.journal_link import JournalLink
from bough.agents.keeper.orphans import KeeperGone
from bough.agents.keeper.start_keeper import attach_keeper, come_up, start_keeper
from bough.agents.link import END_GRACE, Batch, Exit, Link, LinkClosed
from bough.errors import AgentFailed

log = structlog.get_logger("bough.agents")


class KeeperLauncher:
    """A launcher whose agents outlive the server."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def start(self, name: str, command: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Link:
        return await start_keeper(self._root, name, command, cwd=cwd, env=env)

    async def attach(self, name: str, last: int) -> Link:
        folder = self._root / name
        try:
            return await attach_keeper(folder, last)
        except KeeperGone as error:
            # One that lives and does not answer is dead to us; it must be so to its agent before another one starts.
            swept = await orphans.end_keeper(folder)
            log.info("keeper_found_dead", keeper=name, error=error.message, swept=swept)
            return DeadAgentLink(folder, last)
        except AgentFailed as error:
            about = orphans.read_about(folder)
            if error.code != "keeper_version" or about is None:
                raise
            log.warning("keeper_version", keeper=name, error=error.message)
            return JournalLink(folder, about, last)

    async def drop(self, name: str) -> None:
        folder = self._root / name
        with contextlib.suppress(KeeperGone):
            await come_up(folder)
        swept = await orphans.end_keeper(folder)
        if swept:
            log.info("keeper_left_something", keeper=name, swept=swept)
        orphans.discard(folder)

    def names(self) -> list[str]:
        return [path.name for path in orphans.list_keepers(self._root)]


class DeadAgentLink:
    """The link to an agent that is dead: it gives what was journalled and not yet stored, then says how it ended."""

    def __init__(self, folder: Path, last: int) -> None:
        about = orphans.read_about(folder)
        self.command: tuple[str, ...] = tuple(about.command) if about is not None else ("agent",)
        self.pid = about.agent.pid if about is not None else 0
        ended = orphans.read_ended(folder)
        self._exit = ended.exit if ended is not None else Exit(code=None, signal=None, stderr="")
        self._batches = orphans.read_batches(folder, last)
        self._sent = orphans.read_sent(folder)

    async def receive(self) -> Batch:
        batch = next(self._batches, None)
        if batch is None:
            raise LinkClosed(self._exit)
        return batch

    async def send(self, line: bytes, key: str) -> bool:
        """Nobody is there to take it; that is learned when all that was said has been read."""
        return key not in self._sent

    def confirm(self, number: int) -> None:
        """Nobody needs to know."""

    def forget(self, prefix: str) -> None:
        """Nobody remembers."""

    def stderr_tail(self) -> str:
        return self._exit.stderr

    async def end(self, grace: float = END_GRACE) -> Exit:
        return self._exit

    async def leave(self) -> None:
        """There is nobody to leave."""
