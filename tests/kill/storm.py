"""A storm: sessions at work while server, keepers and agents are killed at random, as its seed says. What must hold
afterwards is `calm`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bough.testing.crashing import CRASH
from bough.testing.repos import make_repo
from bough.testing.server import ServerProcess

Json = dict[str, Any]

SESSIONS = 24
PROMPTS = 3
# Everything is drained well within this, unless something hangs.
DRAIN = 120.0
# What is killed, and how often compared with the rest. The server is killed from outside at any moment, or dies by its
# own hand inside a transaction or right after a commit; keepers also die by themselves, in the middle of a write.
VICTIMS = {"server": 4, "server itself": 4, "agent": 3, "keeper": 2}
# Within so many transactions a server that is to die by its own hand does so; some die while they still repair.
TRANSACTIONS = 120
# A server that finds nothing to do does not come to that transaction, and is killed instead.
PATIENCE = 3.0


@dataclass
class Sent:
    """A prompt that was acknowledged."""

    session_id: str
    task_id: str
    text: str
    expected: list[str]


@dataclass
class Storm:
    """The state of one storm, for the checks that follow it."""

    folder: Path
    seed: int
    rounds: int
    flags: tuple[str, ...] = ()
    sent: list[Sent] = field(default_factory=list[Sent])
    killed: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        flags = ("--max-sessions", "500", "--max-agents", str(SESSIONS // 2), "--max-deaths", "100000")
        self.server = ServerProcess(
            self.folder / "data", self.folder / "work", (*flags, *self.flags), module="bough.testing.crashing"
        )
        self.number = 0

    async def blow(self) -> None:
        """Runs the storm until every acknowledged prompt has been answered."""
        sessions = await self._open()
        async with asyncio.TaskGroup() as group:
            approver = group.create_task(self._approve())
            async with asyncio.TaskGroup() as weather:
                weather.create_task(self._kill())
                for session in sessions:
                    weather.create_task(self._prompt(session))
            await self._drain()
            approver.cancel()

    # Traffic: every call is repeated with its key until it is acknowledged.

    async def _call(self, method: str, path: str, body: Json | None = None, key: str | None = None) -> Any:
        while True:
            with contextlib.suppress(httpx.TransportError):
                async with self.server.client() as client:
                    headers = {"Idempotency-Key": key} if key else {}
                    answer = await client.http.request(method, path, json=body, headers=headers)
                    assert answer.status_code < 500, answer.text
                    return answer.json()
            await asyncio.sleep(0.05)

    async def _open(self) -> list[str]:
        sessions: list[str] = []
        for number in range(SESSIONS):
            path = make_repo(self.server.root / f"repo{number}")
            repo = await self._call("POST", "/api/repos", {"path": str(path)}, f"repo{number}")
            body = {"repoId": repo["id"], "agent": "demo", "permissionMode": "ask"}
            sessions.append((await self._call("POST", "/api/sessions", body, f"session{number}"))["id"])
        return sessions

    async def _prompt(self, session_id: str) -> None:
        for _ in range(PROMPTS):
            text, expected = self._invent()
            key = f"prompt{self.number}"
            answer = await self._call("POST", f"/api/sessions/{session_id}/prompt", {"text": text}, key)
            self.sent.append(Sent(session_id, answer["taskId"], text, expected))
            await asyncio.sleep(self.random.uniform(0, 0.5))

    def _invent(self) -> tuple[str, list[str]]:
        """A prompt that nobody else sends, and the messages that it is answered with."""
        self.number += 1
        name = f"word-{self.seed}-{self.number}"
        ticks = "\n".join(f"tick {number}" for number in range(1, 5))
        flood = "\n".join(f"tick {number}" for number in range(1, 3001))
        return self.random.choice(
            [
                (f"[[say {name}]]", [name]),
                (f"[[slow 4 0.4]] [[say {name}]]", [f"{ticks}\n{name}"]),
                (f"[[say one]] [[run echo {name}]] [[say {name}]]", ["one", name]),
                (f"[[flood 3000]] [[say {name}]]", [f"{flood}\n{name}"]),
                (f"[[write {name}.txt {name}]] [[slow 4 0.2]]", [ticks]),
            ]
        )

    async def _approve(self) -> None:
        """Answers whatever is asked; a refusal of a second answer is as good as an answer."""
        while True:
            found = await self._call("GET", "/api/approvals?status=pending&limit=100")
            for approval in found["approvals"]:
                decision = "deny" if int(approval["id"][-1], 16) % 4 == 0 else "allow"
                await self._call("POST", f"/api/approvals/{approval['id']}", {"decision": decision}, approval["id"])
            await asyncio.sleep(0.09)

    # Killing

    async def _kill(self) -> None:
        for _ in range(self.rounds):
            await asyncio.sleep(self.random.uniform(0.05, 0.6))
            victim = self.random.choices(list(VICTIMS), list(VICTIMS.values()))[0]
            if victim in ("server", "server itself"):
                await self._restart(by_itself=victim == "server itself")
            elif pids := processes(self.server.data)[victim]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.random.choice(pids), signal.SIGKILL)
            self.killed[victim] = self.killed.get(victim, 0) + 1

    async def _restart(self, *, by_itself: bool) -> None:
        """Kills the server and starts another; that one may be killed by itself, and by us in the end."""
        address = self.server.url
        await self.server.stop(signal.SIGKILL)
        if by_itself:
            where = self.random.choice(("inside", "after"))
            self.server.env = {CRASH: f"{where}:{self.random.randint(1, TRANSACTIONS)}"}
            # It may die before it is ready.
            with contextlib.suppress(RuntimeError):
                await self.server.start()
            assert self.server.process is not None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self.server.process.wait()
            await self.server.stop(signal.SIGKILL)
        self.server.env = {}
        await self.server.start()
        assert self.server.url == address, "living agents hold the address"

    async def _drain(self) -> None:
        left = [sent.task_id for sent in self.sent]
        try:
            async with asyncio.timeout(DRAIN):
                while left:
                    left = [one for one in left if (await self._task(one))["endedAt"] is None]
                    await asyncio.sleep(0.05)
        except TimeoutError:
            stuck = [f"{one} {(await self._task(one))['status']}" for one in left]
            raise AssertionError(f"never ended: {stuck}") from None

    async def _task(self, task_id: str) -> Json:
        return await self._call("GET", f"/api/tasks/{task_id}")


def processes(data: Path) -> dict[str, list[int]]:
    """Living processes that belong to a data folder: keepers by their command, agents by their environment."""
    found: dict[str, list[int]] = {"agent": [], "keeper": []}
    home = f"BOUGH_DEMO_HOME={data}/demo".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().split(b"\0")
            if command[2:4] == [b"-m", b"bough.testing.torn_keeper"] and str(data).encode() in command[4]:
                found["keeper"].append(int(entry.name))
            elif home in (entry / "environ").read_bytes().split(b"\0"):
                found["agent"].append(int(entry.name))
    return {kind: sorted(pids) for kind, pids in found.items()}
