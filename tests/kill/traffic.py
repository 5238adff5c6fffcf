"""Sends the requests of a kill run and records which were acknowledged. Each script has its own random numbers, so a
seed repeats its requests."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bough.model.session import MODES
from tests.support.eventually import eventually
from tests.support.repos import make_repo

Json = dict[str, Any]
Call = Callable[..., Awaitable[Any]]

PROMPTS = 3
# Agents that learn the past in each possible way: from their own copy, sent once, or sent at every start.
AGENTS = {"demo": "", "told": "fork", "forgetful": "fork,load,resume"}
# Disturbances per tree, after it has grown.
TROUBLES = 3
APART: Json = {"worktree": "new"}
# Seconds in which a tree becomes idle although its server is killed again and again.
REST = 600.0


@dataclass
class Sent:
    """A prompt that was acknowledged."""

    session_id: str
    task_id: str
    text: str
    expected: list[str]


@dataclass
class Branch:
    """An acknowledged fork, child or side question; `apart` if it has its own worktree."""

    session_id: str
    task_id: str
    kind: str
    source: str
    reports: bool = False
    apart: bool = False


@dataclass
class Ledger:
    """Everything that was acknowledged. In `disturbed` sessions, turns were stopped or cancelled; the prompts of
    `steered` were sent into turns of sessions that have no other traffic."""

    sent: list[Sent] = field(default_factory=list[Sent])
    roots: list[str] = field(default_factory=list[str])
    branches: list[Branch] = field(default_factory=list[Branch])
    disturbed: set[str] = field(default_factory=set[str])
    steered: list[Sent] = field(default_factory=list[Sent])
    # Schedules with a single time, and the runs of others that were asked for.
    timed: list[str] = field(default_factory=list[str])
    asked_runs: list[Json] = field(default_factory=list[Json])

    def below(self, session_id: str) -> list[str]:
        """Returns a session and everything branched from it, as far as it was acknowledged."""
        session_ids = [session_id]
        for branch in self.branches:
            if branch.source in session_ids:
                session_ids.append(branch.session_id)
        return session_ids


def add_agents(data: Path) -> None:
    """Adds demo agents with fewer abilities to the catalog of a server that has not started yet."""
    folder = data / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    for name, without in AGENTS.items():
        if without:
            command = json.dumps(["{python}", "-m", "bough.agents.demo", "--without", without])
            lines = [f'title = "{name}"', f"command = {command}", "resume = true"]
            lines += ['env = { BOUGH_DEMO_HOME = "{data}/demo" }', 'quirks = { usage = "session" }']
            lines += ["[modes]", *(f'{mode} = "{mode}"' for mode in MODES)]
            (folder / f"{name}.toml").write_text("\n".join(lines) + "\n", "utf-8")


class Script:
    """One script that works in its own repository."""

    def __init__(self, name: str, seed: int, root: Path, call: Call, ledger: Ledger) -> None:
        self._name = name
        self._seed = seed
        self._random = random.Random(f"{seed} {name}")
        self._path = make_repo(root / name)
        self._call = call
        self._ledger = ledger
        self._number = 0
        self._flood = 3000
        # Children that accept prompts, and sessions that have ended.
        self._children: list[str] = []
        self._ended: set[str] = set()

    async def talk(self) -> None:
        """Creates one session and sends prompts to it."""
        session_id = await self._open("demo")
        for _ in range(PROMPTS):
            await self._prompt(session_id)
            await self._pause(0.5)

    async def steer(self) -> None:
        """Creates one session and sends prompts into its turns."""
        session_id = await self._open("demo")
        for number in range(PROMPTS):
            await self._now(session_id, f"[[slow 40 2]] turn {number} of {self._name}", "next")
            for also in range(PROMPTS):
                await self._pause(0.5)
                await self._now(session_id, f"also {number}.{also} of {self._name}", "now")

    async def schedule(self) -> None:
        """Adds schedules with a single time soon, and asks for runs of others, for one session and for new ones."""
        session_id = await self._open("demo")
        repo_id = (await self._call("GET", f"/api/sessions/{session_id}"))["repoId"]
        new = {"session": {"repoId": repo_id, "agent": "demo", "worktree": {"branch": "run-{number}"}}}
        for number in range(PROMPTS):
            # The clock of a server may be wrong by minutes: then it sends later, or refuses the time as passed.
            soon = datetime.now(UTC) + timedelta(seconds=3)
            body = {"at": soon.isoformat(), "prompt": f"timed {number} of {self._name}", "sessionId": session_id}
            added = await self._call("POST", "/api/schedules", body, self._key(), may_refuse=True)
            if "id" in added:
                self._ledger.timed.append(added["id"])
            place: Json = new if number % 2 else {"sessionId": session_id}
            body = {"cron": "0 0 1 1 *", "prompt": f"asked {number} of {self._name}", "overlap": "run", **place}
            schedule = await self._call("POST", "/api/schedules", body, self._key())
            for _ in range(PROMPTS):
                path = f"/api/schedules/{schedule['id']}/run"
                self._ledger.asked_runs.append(await self._call("POST", path, {}, self._key()))
                await self._pause(0.5)

    async def grow(self, times: int) -> None:
        """Grows one tree after the other."""
        # Transcripts that are sent to other agents must be short, or parts of them are left out.
        self._flood = 200
        for left in reversed(range(times)):
            self._children = []
            root = await self._open(self._random.choice(list(AGENTS)))
            self._ledger.roots.append(root)
            await self._grow(root)
            if left:
                await self._rest(root)

    async def _grow(self, root: str) -> None:
        """Grows three levels, some in their own worktrees, with a child that does not report, side questions, a fork
        and a race; then disturbs them, and finally a whole subtree."""
        await self._prompt(root)
        child = await self._spawn(root)
        await self._spawn(child, **APART)
        await self._aside(root)
        await self._spawn(root, callback={"enabled": False})
        await self._pause(0.3)
        await self._prompt(root)
        await self._fork(root)
        await self._aside(child)
        await self._race(root)
        for _ in range(TROUBLES):
            await self._pause(0.6)
            trouble = self._random.choice((self._stop, self._call_off, self._cancel, self._fork, self._aside))
            await trouble(self._random.choice(self._children or [root]))
        # The child with the most below it, if it still exists.
        cascade = self._random.choice((self._stop_all, self._cancel_all))
        await cascade(child if child in self._children else self._random.choice(self._children or [root]))

    # Single steps; every call is repeated with its key until it is acknowledged.

    async def _open(self, agent: str) -> str:
        repo = await self._call("POST", "/api/repos", {"path": str(self._path)}, self._key())
        body = {"repoId": repo["id"], "agent": agent, "permissionMode": "ask"}
        return (await self._call("POST", "/api/sessions", body, self._key()))["id"]

    async def _prompt(self, session_id: str) -> str:
        text, expected = self._invent()
        answer = await self._call("POST", f"/api/sessions/{session_id}/prompt", {"text": text}, self._key())
        self._ledger.sent.append(Sent(session_id, answer["taskId"], text, expected))
        return answer["taskId"]

    async def _now(self, session_id: str, text: str, when: str) -> None:
        body = {"text": text, "when": when}
        answer = await self._call("POST", f"/api/sessions/{session_id}/prompt", body, self._key())
        self._ledger.steered.append(Sent(session_id, answer["taskId"], text, []))

    async def _spawn(self, source: str, **fields: Any) -> str:
        branch = await self._branch("spawn", source, "callback" not in fields, fields)
        self._children.append(branch)
        return branch

    async def _fork(self, source: str) -> None:
        await self._branch("fork", source, False, APART if self._random.random() < 0.5 else {})

    async def _race(self, source: str) -> None:
        text, expected = self._invent()
        body = {"prompt": text, "contenders": [{}, {"agent": self._random.choice(list(AGENTS))}]}
        begun = await self._call("POST", f"/api/sessions/{source}/race", body, self._key())
        for made in begun["sessions"]:
            self._ledger.branches.append(Branch(made["sessionId"], made["taskId"], "fork", source, apart=True))
            self._ledger.sent.append(Sent(made["sessionId"], made["taskId"], text, expected))

    async def _aside(self, source: str) -> None:
        await self._branch("btw", source, False, {})

    async def _branch(self, kind: str, source: str, reports: bool, fields: Json) -> str:
        text, expected = self._invent(reading=kind == "btw")
        body: Json = {"prompt": text, **fields}
        if self._random.random() < 0.3:
            body["agent"] = self._random.choice(list(AGENTS))
        made = await self._call("POST", f"/api/sessions/{source}/{kind}", body, self._key())
        apart = "worktree" in fields
        self._ledger.branches.append(Branch(made["sessionId"], made["taskId"], kind, source, reports, apart))
        self._ledger.sent.append(Sent(made["sessionId"], made["taskId"], text, expected))
        return made["sessionId"]

    async def _stop(self, session_id: str) -> None:
        """Stops a child in its turn; the next prompt resumes its queue."""
        if session_id in self._children:
            self._ledger.disturbed.add(session_id)
            await self._call("POST", f"/api/sessions/{session_id}/stop", {}, self._key())
        await self._prompt(session_id)

    async def _call_off(self, session_id: str) -> None:
        """Cancels one prompt of a child, whether it is queued, running or answered by then."""
        task_id = await self._prompt(session_id)
        if session_id in self._children:
            self._ledger.disturbed.add(session_id)
            await self._pause(0.3)
            await self._call("DELETE", f"/api/tasks/{task_id}", None, self._key(), may_refuse=True)
            await self._prompt(session_id)

    async def _cancel(self, session_id: str) -> None:
        """Ends a child; sessions below it continue, and their reports are kept."""
        if session_id in self._children:
            self._ledger.disturbed.add(session_id)
            self._children.remove(session_id)
            self._ended.add(session_id)
            await self._call("DELETE", f"/api/sessions/{session_id}")

    async def _stop_all(self, session_id: str) -> None:
        """Stops a child and everything below it, then resumes all of it."""
        if session_id not in self._children:
            return
        below = self._ledger.below(session_id)
        self._ledger.disturbed.update(below)
        await self._call("POST", f"/api/sessions/{session_id}/stop", {"cascade": True}, self._key())
        for item in below:
            # A side question is asked only once.
            if item not in self._ended:
                await self._call("POST", f"/api/sessions/{item}/resume", {}, self._key(), may_refuse=True)
        await self._prompt(session_id)

    async def _cancel_all(self, session_id: str) -> None:
        """Ends a child and everything below it."""
        if session_id not in self._children:
            return
        below = self._ledger.below(session_id)
        self._ledger.disturbed.update(below)
        self._children = [child for child in self._children if child not in below]
        self._ended.update(below)
        await self._call("DELETE", f"/api/sessions/{session_id}?cascade=true", None, self._key())

    async def _rest(self, root: str) -> None:
        """Waits until a tree has nothing more to do."""

        async def look() -> bool:
            tree = await self._call("GET", f"/api/sessions/{root}/tree")
            return not (tree["running"] or tree["queued"] or tree["asking"])

        await eventually(look, f"the tree of {root} is at rest", within=REST, pause=0.09)

    async def _pause(self, longest: float) -> None:
        await asyncio.sleep(self._random.uniform(0, longest))

    def _key(self) -> str:
        self._number += 1
        return f"{self._name}-{self._number}"

    def _invent(self, *, reading: bool = False) -> tuple[str, list[str]]:
        """Returns a prompt that nobody else sends and the messages that answer it."""
        word = f"word-{self._seed}-{self._key()}-"
        question = {"message": word, "properties": {"word": {"type": "string", "enum": [word]}}}
        ticks = "\n".join(f"tick {number}" for number in range(1, 5))
        flood = "\n".join(f"tick {number}" for number in range(1, self._flood + 1))
        answers = [
            (f"[[say {word}]]", [word]),
            (f"[[slow 4 0.4]] [[say {word}]]", [f"{ticks}\n{word}"]),
            (f"[[flood {self._flood}]] [[say {word}]]", [f"{flood}\n{word}"]),
            (f"[[say one]] [[run echo {word}]] [[say {word}]]", ["one", word]),
            (f"[[write {word}.txt {word}]] [[slow 4 0.2]]", [ticks]),
            (f"[[ask {json.dumps(question)}]] [[say {word}]]", [f'You answered accept {{"word":"{word}"}}.\n{word}']),
        ]
        return self._random.choice(answers[:3] if reading else answers)
