"""The keepers of a data folder as seen from outside: which live, what they hold, and ending those that a server left
behind. A server that runs looks after its own; what a turn becomes whose agent was ended is left to its next start."""

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
from bough.agents.keeper import orphans, process_tree
from bough.agents.keeper.end_agent import KILL_WAIT
from bough.agents.keeper.files import MARK
from bough.agents.keeper.process_tree import Process
from bough.api.cli.framework.formats import brief, short
from bough.core.store.records import session as find_session
from bough.core.store.sql import KEEPERS, TASKS
from bough.core.turns.agent_pool import Keeper
from bough.errors import AgentFailed
from bough.model.task import Task
from bough.settings import Settings
from bough.storage import migrate
from bough.storage.backend import Tx
from bough.storage.open import open_backend

# How soon the end of a killed keeper is noticed; nobody reports it, since it is not our child.
LOOK_EVERY = 0.01


@dataclass
class Held:
    """A keeper, or what is left of one, and what it holds."""

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

    def said(self) -> str:
        """What it holds, for people."""
        agent = command_name(self.command) if self.command else "an agent"
        word = "process" if len(self.processes) == 1 else "processes"
        numbers = ", ".join(map(str, self.processes))
        held = f"{agent} ({word} {numbers})" if numbers else f"{agent} (which has ended)"
        if self.session_id is None:
            return f"{held} of no session that is known"
        title = f" ({brief(self.title, 60)})" if self.title else ""
        turn = f", task {short(self.task_id)} {self.task_status}" if self.task_id else ", without a turn"
        return f"{held} of session {short(self.session_id)}{title}{turn}"

    def document(self) -> dict[str, Any]:
        """The same for scripts."""
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


def look(data: Path) -> list[Held]:
    """Every keeper that lives, and every dead one whose agent has left something running."""
    found = (_look(folder) for folder in orphans.list_keepers(data / "keepers"))
    return [held for held in found if held.alive or held.processes]


def _look(folder: Path) -> Held:
    about = None
    with contextlib.suppress(msgspec.MsgspecError, OSError):
        about = orphans.read_about(folder)
    if about is not None and process_tree.alive(about.keeper):
        inside = [process.pid for process in process_tree.family(about.keeper) if process != about.keeper]
        return Held(folder.name, folder, about.keeper, about.command, inside)
    roots = ([about.agent] if about is not None else []) + process_tree.marked(f"{MARK}={folder.name}".encode())
    left = process_tree.family(roots[0], roots[1:]) if roots else []
    return Held(folder.name, folder, None, about.command if about else [], [process.pid for process in left])


async def name_sessions(held: list[Held], settings: Settings) -> None:
    """Adds which session and which turn each keeper serves, as far as the database knows."""
    db = await open_backend(settings.database_url)
    try:
        if (await migrate.status(db)).pending:
            return

        async def read(tx: Tx) -> None:
            rows = {row.id: row for row in await tx.all(KEEPERS.all, Keeper)}
            tasks = {task.session_id: task for task in await tx.all(TASKS.under_way, Task)}
            for one in held:
                if (row := rows.get(one.name)) is None:
                    continue
                one.session_id, one.title = row.session_id, (await find_session(tx, row.session_id)).title
                if (task := tasks.get(row.session_id)) is not None:
                    one.task_id, one.task_status = task.id, task.status

        await db.read(read)
    finally:
        await db.close()


def end(held: list[Held]) -> list[int]:
    """Ends them all, each with its agent and whatever that has started; gives back the processes that would not end.

    The keepers go first, and at once: what an agent says because it is being ended is no answer to its prompt, so the
    turn is interrupted and not over. Their folders stay: what was said before is read there by the next server.
    """
    keepers = [one.keeper for one in held if one.keeper is not None]
    process_tree.send_signal(keepers, signal.SIGKILL)
    deadline = time.monotonic() + KILL_WAIT
    while any(process_tree.alive(one) for one in keepers) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
    return asyncio.run(_sweep(held)) + [one.pid for one in keepers if process_tree.alive(one)]


async def _sweep(held: list[Held]) -> list[int]:
    swept = await asyncio.gather(*(orphans.sweep(one.folder) for one in held), return_exceptions=True)
    left: list[int] = []
    for end in swept:
        if isinstance(end, AgentFailed):
            left += end.details["pids"]
        elif isinstance(end, BaseException):
            raise end
    return left
