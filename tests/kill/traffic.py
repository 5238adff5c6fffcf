"""What is asked of Bough in a storm, each script with dice of its own so that its seed gives the same again, and what
of it was acknowledged. Killing is `storm`, what must hold afterwards `calm` and `trees`."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bough.model.session import MODES
from tests.support.eventually import eventually
from tests.support.repos import make_repo

Json = dict[str, Any]
Call = Callable[..., Awaitable[Any]]

PROMPTS = 3
# Agents that know the past in each of the ways there are: by a copy of their own, told it once, told it at every start.
AGENTS = {"demo": "", "told": "fork", "forgetful": "fork,load,resume"}
# What befalls each tree after it has grown.
TROUBLES = 3
APART: Json = {"worktree": "new"}
# Seconds in which a tree comes to rest, though its server is killed again and again.
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
    """A fork, a child or a question aside that was acknowledged; `apart` if it has a worktree of its own."""

    session_id: str
    task_id: str
    kind: str
    source: str
    reports: bool = False
    apart: bool = False


@dataclass
class Ledger:
    """All that was acknowledged. In `disturbed` sessions turns were stopped or cancelled."""

    sent: list[Sent] = field(default_factory=list[Sent])
    roots: list[str] = field(default_factory=list[str])
    branches: list[Branch] = field(default_factory=list[Branch])
    disturbed: set[str] = field(default_factory=set[str])

    def below(self, session_id: str) -> list[str]:
        """A session and all that was made out of it, as it was acknowledged."""
        found = [session_id]
        for branch in self.branches:
            if branch.source in found:
                found.append(branch.session_id)
        return found


def add_agents(data: Path) -> None:
    """Puts demo agents that can do less into the catalog of a server that is yet to start."""
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
    """One hand at work in a repository of its own."""

    def __init__(self, name: str, seed: int, root: Path, call: Call, ledger: Ledger) -> None:
        self._name = name
        self._seed = seed
        self._random = random.Random(f"{seed} {name}")
        self._path = make_repo(root / name)
        self._call = call
        self._ledger = ledger
        self._number = 0
        self._flood = 3000
        # Children that take prompts, and sessions that were ended.
        self._children: list[str] = []
        self._ended: set[str] = set()

    async def talk(self) -> None:
        """One session, and prompts to it."""
        session_id = await self._open("demo")
        for _ in range(PROMPTS):
            await self._prompt(session_id)
            await self._pause(0.5)

    async def grow(self, times: int) -> None:
        """One tree after the other."""
        # What is told again to other agents has to be short, or parts of it are left out.
        self._flood = 200
        for left in reversed(range(times)):
            self._children = []
            root = await self._open(self._random.choice(list(AGENTS)))
            self._ledger.roots.append(root)
            await self._grow(root)
            if left:
                await self._rest(root)

    async def _grow(self, root: str) -> None:
        """Three levels, some of it in worktrees of their own, one child that keeps to itself, questions beside the
        work, a fork, a race; then trouble, in the end for a whole part of it."""
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
        # The child with most below it, if it is there still.
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
        """Stops a child in its turn; the next prompt has its queue move again."""
        if session_id in self._children:
            self._ledger.disturbed.add(session_id)
            await self._call("POST", f"/api/sessions/{session_id}/stop", {}, self._key())
        await self._prompt(session_id)

    async def _call_off(self, session_id: str) -> None:
        """Cancels one prompt of a child, wherever that is by then: it may wait, run or have been answered."""
        task_id = await self._prompt(session_id)
        if session_id in self._children:
            self._ledger.disturbed.add(session_id)
            await self._pause(0.3)
            await self._call("DELETE", f"/api/tasks/{task_id}", None, self._key(), may_refuse=True)
            await self._prompt(session_id)

    async def _cancel(self, session_id: str) -> None:
        """Ends a child; what is below it goes on, and its reports are kept."""
        if session_id in self._children:
            self._ledger.disturbed.add(session_id)
            self._children.remove(session_id)
            self._ended.add(session_id)
            await self._call("DELETE", f"/api/sessions/{session_id}")

    async def _stop_all(self, session_id: str) -> None:
        """Stops a child and all below it, then lets all of it go on."""
        if session_id not in self._children:
            return
        below = self._ledger.below(session_id)
        self._ledger.disturbed.update(below)
        await self._call("POST", f"/api/sessions/{session_id}/stop", {"cascade": True}, self._key())
        for one in below:
            # A question aside is asked once.
            if one not in self._ended:
                await self._call("POST", f"/api/sessions/{one}/resume", {}, self._key(), may_refuse=True)
        await self._prompt(session_id)

    async def _cancel_all(self, session_id: str) -> None:
        """Ends a child and all below it."""
        if session_id not in self._children:
            return
        below = self._ledger.below(session_id)
        self._ledger.disturbed.update(below)
        self._children = [one for one in self._children if one not in below]
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
        """A prompt that nobody else sends, and the messages that it is answered with."""
        word = f"word-{self._seed}-{self._key()}-"
        ticks = "\n".join(f"tick {number}" for number in range(1, 5))
        flood = "\n".join(f"tick {number}" for number in range(1, self._flood + 1))
        answers = [
            (f"[[say {word}]]", [word]),
            (f"[[slow 4 0.4]] [[say {word}]]", [f"{ticks}\n{word}"]),
            (f"[[flood {self._flood}]] [[say {word}]]", [f"{flood}\n{word}"]),
            (f"[[say one]] [[run echo {word}]] [[say {word}]]", ["one", word]),
            (f"[[write {word}.txt {word}]] [[slow 4 0.2]]", [ticks]),
        ]
        return self._random.choice(answers[:3] if reading else answers)
