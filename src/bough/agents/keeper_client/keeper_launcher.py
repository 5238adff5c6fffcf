"""Starts agents under keepers, attaches to them after a restart of the server, and drops them. Each has a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from bough.agents.errors import KeeperGone
from bough.agents.keeper_client import keeper_folder, orphans
from bough.agents.keeper_client.dead_agent_link import DeadAgentLink
from bough.agents.keeper_client.journal_link import JournalLink
from bough.agents.keeper_client.start_keeper import attach_keeper, start_keeper, wait_until_started
from bough.agents.link import Link
from bough.errors import AgentFailed

log = structlog.get_logger("bough.agents")


class KeeperLauncher:
    """The launcher whose agents outlive the server."""

    def __init__(self, root: Path) -> None:
        self._root = root

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
        return await start_keeper(self._root, name, command, cwd=cwd, env=env, box=box, network=network)

    async def attach(self, name: str, last: int) -> Link:
        folder = self._root / name
        try:
            return await attach_keeper(folder, last)
        except KeeperGone as error:
            # A keeper that does not answer is useless, but its agent must be gone before another one starts.
            swept = await orphans.end_keeper(folder)
            log.info("keeper_found_dead", keeper=name, error=error.message, swept=swept)
            return DeadAgentLink(folder, last)
        except AgentFailed as error:
            about = keeper_folder.read_info(folder)
            # A keeper denies us if the secret was lost, for example because the data folder was restored without it.
            if error.code not in ("keeper_version", "keeper_denied") or about is None:
                raise
            log.warning(error.code, keeper=name, error=error.message)
            return JournalLink(folder, about, last)

    async def drop(self, name: str) -> None:
        folder = self._root / name
        with contextlib.suppress(KeeperGone):
            await wait_until_started(folder)
        swept = await orphans.end_keeper(folder)
        if swept:
            log.info("keeper_left_something", keeper=name, swept=swept)
        keeper_folder.discard(folder)

    def names(self) -> list[str]:
        return [path.name for path in keeper_folder.list_keepers(self._root)]
