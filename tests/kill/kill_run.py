"""Runs sessions and trees while server, keepers and agents are killed at random moments that a seed decides."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bough.model.task import MOVES, TERMINAL
from tests.kill.scripts import nudges
from tests.kill.scripts.calls import MODES as CALLER_MODES
from tests.kill.scripts.calls import Caller
from tests.kill.scripts.finishing import Finishing
from tests.kill.scripts.imports import Imports
from tests.kill.scripts.nudges import Nudges
from tests.kill.scripts.parking import Parking, add_limited_agent
from tests.kill.scripts.restores import Restores
from tests.kill.scripts.script import CheckedScript
from tests.kill.scripts.terminals import Terminals
from tests.kill.traffic import Ledger, Script, add_agents
from tests.kill.victims import Victims
from tests.support.eventually import eventually
from tests.support.faults.crashing_server import CLOCK, CRASH, FAULTS, TORN_KEEPERS
from tests.support.faults.disk_faults import FaultyDisk
from tests.support.faults.postgres_proxy import PostgresProxy
from tests.support.postgres import Postgres
from tests.support.server import ServerProcess

Json = dict[str, Any]

# Sessions that only receive prompts, and scripts that grow one tree per this many rounds.
SESSIONS = 8
TREES = 2
ROUNDS_PER_TREE = 15
# Slots for agents: about half as many as there are agents that want to work at the same time.
AGENTS = 8
# Everything drains well within this unless something hangs.
DRAIN = 120.0
# Victims and their weights. The server is killed from outside at any moment, or crashes by itself inside a
# transaction or right after a commit. The next server may have a database that fails, or a wrong clock. The others
# (`victims`) are harmed beside a living server.
RESTARTS = {"server": 4, "server itself": 4, "database": 2, "clock": 1}
# One in this many transactions fails in a server whose database fails.
FAULT_RATE = 0.05
# The number of seconds by which a wrong clock is ahead or behind.
CLOCK_JUMP = 600
# A server that is supposed to crash by itself does so within this many transactions, sometimes still during recovery.
TRANSACTIONS = 120
# The database cannot be reached or fails: the same call can succeed later.
UNAVAILABLE = 503
# The agent that had to answer was killed.
AGENT_FAILED = 502
# Each plays once, in a repository of its own, and has a check of its own.
CHECKED: tuple[type[CheckedScript], ...] = (Parking, Nudges, Restores, Finishing, Terminals, Imports)
# A server with nothing to do never reaches that transaction, and is killed instead.
PATIENCE = 3.0


@dataclass
class KillRun:
    """One run, with the state that the checks need afterwards."""

    folder: Path
    seed: int
    rounds: int
    flags: tuple[str, ...] = ()
    proxy: PostgresProxy | None = None
    postgres: Postgres | None = None
    disk: FaultyDisk | None = None
    ledger: Ledger = field(default_factory=Ledger)
    killed: dict[str, int] = field(default_factory=dict[str, int])
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        flags = ("--max-sessions", "5000", "--max-agents", str(AGENTS), "--max-deaths", "100000", *nudges.FLAGS)
        self.server = ServerProcess(
            self.folder / "data",
            self.folder / "work",
            (*flags, *self.flags),
            module="tests.support.faults.crashing_server",
        )
        # Every server of the run has this; one that is to fail has more.
        self._env = {TORN_KEEPERS: "yes", "SHELL": "/bin/sh"} | (self.disk.env if self.disk is not None else {})
        self.server.env = self._env
        self._victims = Victims(self.server.data, self.random, self.proxy, self.postgres, self.disk)
        add_agents(self.server.data)
        add_limited_agent(self.server.data)
        self.callers = [Caller(mode, self.seed, self.server.root, self._call) for mode in CALLER_MODES]
        self.checked = [kind(self.server, self._call) for kind in CHECKED]

    async def play(self) -> None:
        """Plays all scripts while processes are killed, then waits until everything is drained."""
        async with asyncio.TaskGroup() as group:
            approver = group.create_task(self._approve())
            with self.timed("traffic"):
                await self._disturb()
            with self.timed("end"):
                await self._end()
            approver.cancel()

    async def _disturb(self) -> None:
        """Plays all scripts while processes are killed."""
        async with asyncio.TaskGroup() as work:
            for number in range(SESSIONS):
                work.create_task(self._script(f"talk{number}").talk())
            work.create_task(self._script("steer").steer())
            work.create_task(self._script("schedule").schedule())
            for number in range(TREES):
                work.create_task(self._script(f"tree{number}").grow(1 + self.rounds // ROUNDS_PER_TREE))
            for caller in self.callers:
                work.create_task(caller.play())
            for script in self.checked:
                work.create_task(self._play(script))
            work.create_task(self._kill())

    async def _play(self, script: CheckedScript) -> None:
        with self.timed(script.name):
            await script.play()

    async def _end(self) -> None:
        """Waits until everything is drained, and leaves a server whose database works."""
        await self._drain()
        for caller in self.callers:
            await caller.settled()
        # Late decisions are reported with a prompt.
        await self._drain()
        await self._settle_worktrees()
        if self.server.env != self._env:
            # The checks need a server whose database works.
            await self._restart()
            await self._drain()
        await self._settle_schedules()
        await self._drain()

    @contextlib.contextmanager
    def timed(self, part: str) -> Generator[None]:
        """Adds up the seconds that a part of the run takes."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.monotonic() - begun

    def _script(self, name: str) -> Script:
        return Script(name, self.seed, self.server.root, self._call, self.ledger)

    async def _call(
        self, method: str, path: str, body: Json | None = None, key: str | None = None, may_refuse: bool = False
    ) -> Any:
        """Makes one call as a client would, repeated with its key until it is answered."""
        while True:
            with contextlib.suppress(httpx.TransportError):
                async with self.server.client() as client:
                    headers = {"Idempotency-Key": key} if key else {}
                    answer = await client.http.request(method, path, json=body, headers=headers)
                    if answer.status_code != UNAVAILABLE and not _is_of_the_disk(answer):
                        refused = may_refuse and (answer.status_code < 500 or answer.status_code == AGENT_FAILED)
                        assert refused or answer.status_code < 400, f"{method} {path}: {answer.text}"
                        return answer.json()
            # A client waits a little before it tries again; the next server may not listen yet.
            await asyncio.sleep(0.05)

    async def _approve(self) -> None:
        """Answers every approval; a refused second answer is fine."""
        while True:
            page = await self._call("GET", "/api/approvals?status=pending&limit=100")
            for approval in page["approvals"]:
                path = f"/api/approvals/{approval['id']}"
                await self._call("POST", path, _answer(approval), approval["id"], may_refuse=True)
            # A person looks now and then, and may come between any two steps of a turn.
            await asyncio.sleep(0.09)

    # Killing

    async def _kill(self) -> None:
        weights = RESTARTS | self._victims.weights
        for _ in range(self.rounds):
            await asyncio.sleep(self.random.uniform(0.05, 0.6))
            victim = self.random.choices(list(weights), list(weights.values()))[0]
            with self.timed(victim):
                await self._harm(victim)
            self.killed[victim] = self.killed.get(victim, 0) + 1

    async def _harm(self, victim: str) -> None:
        if victim in ("server", "server itself"):
            await self._restart(by_itself=victim == "server itself")
        elif victim == "database":
            await self._restart(env={FAULTS: f"{self.random.randrange(10**6)}:{FAULT_RATE}"})
        elif victim == "clock":
            await self._restart(env={CLOCK: str(self.random.randint(-CLOCK_JUMP, CLOCK_JUMP))})
        else:
            await self._victims.harm(victim)

    async def _restart(self, *, by_itself: bool = False, env: dict[str, str] | None = None) -> None:
        """Kills the server and starts another, which may first crash by itself, or fail as `env` says."""
        address = self.server.url
        await self.server.stop(signal.SIGKILL)
        if by_itself:
            where = self.random.choice(("inside", "after"))
            self.server.env = self._env | {CRASH: f"{where}:{self.random.randint(1, TRANSACTIONS)}"}
            # It may crash before it is ready.
            with contextlib.suppress(RuntimeError):
                await self.server.start()
            assert self.server.process is not None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self.server.process.wait()
            await self.server.stop(signal.SIGKILL)
        self.server.env = self._env | (env or {})
        try:
            await self.server.start()
        except RuntimeError:
            # Its database failed before it was ready, as intended.
            assert env
            self.server.env = self._env
            await self.server.start()
        assert self.server.url == address, "living agents hold the address"

    async def _drain(self) -> None:
        """Waits until no task is open; a report is stored in the same transaction as the end that it reports."""
        path = f"/api/tasks?limit=100&status={','.join(sorted(set(MOVES) - TERMINAL))}"
        open_tasks: list[str] = []

        async def look() -> bool:
            tasks = (await self._call("GET", path))["tasks"]
            open_tasks[:] = [f"{task['id']} {task['status']} of {task['sessionId']}" for task in tasks]
            return not open_tasks

        try:
            await eventually(look, lambda: f"no task is open; these are: {open_tasks}", within=DRAIN, pause=0.09)
        except AssertionError:
            await self._explain()
            raise

    async def _settle_worktrees(self) -> None:
        """Waits until nobody works on a worktree. This needs no restart, even on a server whose database fails."""
        unfinished: list[str] = []

        async def look() -> bool:
            rows = (await self._call("GET", "/api/worktrees?limit=500"))["worktrees"]
            rows += (await self._call("GET", "/api/worktrees?limit=500&removed=true"))["worktrees"]
            unfinished[:] = [f"{row['path']} {row['status']}" for row in rows if row["status"] != "ready"]
            return not unfinished

        await eventually(look, lambda: f"no worktree is unfinished; these are: {unfinished}", within=DRAIN, pause=0.5)

    async def _settle_schedules(self) -> None:
        """Waits until the runs of schedules are started. Now the server's clock is right, so single times have come."""
        waiting: list[str] = []

        async def look() -> bool:
            rows = (await self._call("GET", "/api/schedules?limit=500"))["schedules"]
            waiting[:] = [f"{row['id']} {row['lastRun']}" for row in rows if _is_starting(row)]
            return not waiting

        await eventually(look, lambda: f"no run has to start; these have: {waiting}", within=DRAIN, pause=0.5)

    async def _explain(self) -> None:
        """Prints what is known about the sessions that hang: only a report of the failure can show it later."""
        tasks = (await self._call("GET", "/api/tasks?limit=100&status=queued,dispatching,running,interrupted"))["tasks"]
        for session_id in {task["sessionId"] for task in tasks}:
            session = await self._call("GET", f"/api/sessions/{session_id}")
            messages = await self._call("GET", f"/api/sessions/{session_id}/messages?limit=20")
            texts = [(message["role"], str(message["content"])[:300]) for message in messages]
            mentions = [
                line[:400]
                for line in (self.server.data / "server.log").read_text("utf-8", "replace").splitlines()
                if session_id in line
            ]
            print(session, *texts, *mentions[-40:], f"killed: {self.killed}", sep="\n")


def _is_starting(schedule: Json) -> bool:
    last = schedule["lastRun"]
    return (schedule["at"] is not None and last is None) or (last is not None and last["status"] == "starting")


def _is_of_the_disk(answer: httpx.Response) -> bool:
    """Tells whether git could not write, as on the broken disks of this run. Nothing was stored, so clients repeat."""
    return answer.status_code >= 400 and answer.json()["error"]["code"] == "git_failed"


def _answer(approval: Json) -> Json:
    """Returns the answer to an approval: the first choice of a question, and to anything else mostly yes."""
    if approval["toolKind"] == "question":
        content = {field["name"]: field["choices"][0]["value"] for field in approval["toolCall"]["fields"]}
        return {"action": "accept", "content": content}
    return {"decision": "deny" if int(approval["id"][-1], 16) % 4 == 0 else "allow"}
