"""Asks an agent what it offers: starts it in its sandbox and an empty folder, opens a session, and ends it. No prompt
is sent, so no model is called."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec

from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import CatalogEntry
from bough.agents.handshake import Handshake, Steps
from bough.agents.link import Link
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.beside import opened_beside, reading_session
from bough.core.live_agents.offers import Offer, read_offer
from bough.core.live_agents.start.conversation import FETCH_TIME
from bough.errors import AgentFailed, Invalid
from bough.model.session import RANK, Session
from bough.settings import Settings

LATE_COMMANDS = 2.0
"""Seconds for an agent to list its commands, which it may do after it has answered."""
ENDING = 60.0
"""Seconds more than the agent has for its answers: to wait for other starts, to prepare the box and to end it."""


class _Asking(Handshake):
    """A handshake that notes the commands that the agent lists."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, Steps(), lambda _update: False)
        self._link = link
        self.commands: Any = None
        self.listed = asyncio.Event()

    def on_updates(self, updates: list[SessionUpdate], last: int) -> None:
        for update in updates:
            if update.kind == "available_commands_update":
                self.commands = msgspec.json.decode(update.raw, type=dict[str, Any]).get("availableCommands")
                self.listed.set()
        self._link.confirm(last)


async def ask_agent(agents: AgentPool, settings: Settings, entry: CatalogEntry) -> Offer:
    """Returns what an agent offers in an empty folder. Raises `AgentFailed` if it does not answer in time."""
    within = settings.initialize_timeout + settings.session_timeout + FETCH_TIME + ENDING
    folder = await asyncio.to_thread(_empty_folder, settings.data_path / "checks" / entry.name)
    place = _place(entry, str(folder))
    try:
        async with asyncio.timeout(within), opened_beside(agents, settings, place, entry, {}, _Asking) as opening:
            asking, can, prepared = opening
            instructions = prepared.instructions if can.system_prompt else ""
            opened = await asking.client.new_session(
                place.cwd, meta=prepared.meta or None, instructions=instructions, timeout=settings.session_timeout
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LATE_COMMANDS):
                    await asking.listed.wait()
            if can.delete:
                # The agent would list it as a conversation.
                with contextlib.suppress(AgentFailed):
                    await asking.client.delete_session(opened.session_id)
            return read_offer(entry, prepared.version, opened, asking.commands)
    except TimeoutError:
        raise AgentFailed("agent_timeout", f"{entry.title} did not say what it offers within {within:g} s.") from None
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _place(entry: CatalogEntry, cwd: str) -> Session:
    """Returns the session that the agent is started for: it only reads, in the most careful mode that the agent has."""
    place = reading_session(entry, cwd)
    try:
        entry.mode(place.permission_mode)
    except Invalid:
        place.permission_mode = min(entry.modes, key=lambda mode: RANK[mode])
    return place


def _empty_folder(path: Path) -> Path:
    """Returns an empty folder that is no link; the name stays the same, because agents remember folders."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    return Path(os.path.realpath(path))
