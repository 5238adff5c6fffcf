"""Finds the keepers of a data folder from outside the server, and ends the ones that a stopped server left behind."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bough.agents.errors import command_name
from bough.agents.keeper import process_tree
from bough.agents.keeper.end_agent import KILL_WAIT
from bough.agents.keeper.files import MARK
from bough.agents.keeper.process_tree import Process
from bough.agents.keeper_client import keeper_folder, orphans
from bough.api.cli.framework.formats import brief, short
from bough.core.store.records import session as find_session
from bough.core.turns.recovery import keepers_and_turns
from bough.errors import AgentFailed
from bough.settings import Settings
from bough.storage import migrate
from bough.storage.backend import Tx
from bough.storage.open import open_backend

# How often to check whether a killed keeper has ended; it is not our child, so nothing tells us.
LOOK_EVERY = 0.01


@dataclass
class HeldAgent:
    """An agent with its keeper, or what is left of them."""

    name: str
    folder: Path
    keeper: Process | None
    command: list[str]
    processes: list[int]
    session_id: str | None = None
    title: str = ""
    task_id: str | None = None
    task_status: str | None = None

    @property
    def alive(self) -> bool:
        return self.keeper is not None

    @property
    def keeper_pid(self) -> int | None:
        return self.keeper.pid if self.keeper else None

    def describe(self) -> str:
        """Describes the agent, its processes and its session."""
        agent = command_name(self.command) if self.command else "an agent"
        word = "process" if len(self.processes) == 1 else "processes"
        numbers = ", ".join(map(str, self.processes))
        agent_text = f"{agent} ({word} {numbers})" if numbers else f"{agent} (ended)"
        if self.session_id is None:
            return f"{agent_text} of an unknown session"
        title = f" ({brief(self.title, 60)})" if self.title else ""
        turn_text = f", task {short(self.task_id)} {self.task_status}" if self.task_id else ", no turn running"
        return f"{agent_text} of session {short(self.session_id)}{title}{turn_text}"

    def document(self) -> dict[str, Any]:
        """Returns the same for JSON output."""
        return {
            "id": self.name,
            "alive": self.alive,
            "pid": self.keeper_pid,
            "command": self.command,
            "processes": self.processes,
            "sessionId": self.session_id,
            "taskId": self.task_id,
            "taskStatus": self.task_status,
        }


def find_held(data: Path) -> list[HeldAgent]:
    """Finds every live keeper, and every dead one whose agent left processes running."""
    keepers = (_read_keeper(folder) for folder in keeper_folder.list_keepers(data / "keepers"))
    return [held for held in keepers if held.alive or held.processes]


def _read_keeper(folder: Path) -> HeldAgent:
    about = None
    with contextlib.suppress(msgspec.MsgspecError, OSError):
        about = keeper_folder.read_info(folder)
    if about is not None and process_tree.alive(about.keeper):
        inside = [process.pid for process in process_tree.family(about.keeper) if process != about.keeper]
        return HeldAgent(folder.name, folder, about.keeper, about.command, inside)
    roots = ([about.agent] if about is not None else []) + process_tree.marked(f"{MARK}={folder.name}".encode())
    left = process_tree.family(roots[0], roots[1:]) if roots else []
    return HeldAgent(folder.name, folder, None, about.command if about else [], [process.pid for process in left])


async def name_sessions(held: list[HeldAgent], settings: Settings) -> None:
    """Adds the session and turn of each keeper, as far as the database knows them."""
    db = await open_backend(settings.database_url)
    try:
        if (await migrate.status(db)).pending:
            return

        async def read(tx: Tx) -> None:
            stored, under_way = await keepers_and_turns(tx)
            rows = {row.id: row for row in stored}
            tasks = {task.session_id: task for task in under_way}
            for agent in held:
                if (row := rows.get(agent.name)) is None:
                    continue
                agent.session_id, agent.title = row.session_id, (await find_session(tx, row.session_id)).title
                if (task := tasks.get(row.session_id)) is not None:
                    agent.task_id, agent.task_status = task.id, task.status

        await db.read(read)
    finally:
        await db.close()


def end(held: list[HeldAgent]) -> list[int]:
    """Ends all keepers with their agents and everything those started; returns the processes that did not end.

    The keepers are killed first, so that nothing an agent writes while it is being ended counts as its answer and the
    turn is interrupted rather than finished. Their folders stay, because the next server reads the journals in them.
    """
    keepers = [keeper.keeper for keeper in held if keeper.keeper is not None]
    process_tree.send_signal(keepers, signal.SIGKILL)
    deadline = time.monotonic() + KILL_WAIT
    while any(process_tree.alive(keeper) for keeper in keepers) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
    return asyncio.run(_sweep(held)) + [keeper.pid for keeper in keepers if process_tree.alive(keeper)]


async def _sweep(held: list[HeldAgent]) -> list[int]:
    results = await asyncio.gather(*(orphans.sweep(agent.folder) for agent in held), return_exceptions=True)
    left: list[int] = []
    for result in results:
        if isinstance(result, AgentFailed):
            left += result.details["pids"]
        elif isinstance(result, BaseException):
            raise result
    return left
