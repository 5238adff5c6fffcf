"""Lets agents call Bough's own tools during a kill run, with and without a person's approval, and checks their calls
afterwards (5c, 5d): each acts once or not at all, and its outcome is known."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.repos import make_repo

Json = dict[str, Any]
Call = Callable[..., Awaitable[Any]]

# In the first mode agents act without approval; in the second every call waits for a person.
MODES = ("bypassPermissions", "ask")
PROMPTS = 5
CREATE = "agor_sessions_create"
# Late decisions are carried out and reported well within this.
SETTLE = 60.0


class Caller:
    """A session whose agent creates other sessions, which do nothing; some are requested twice with the same key."""

    def __init__(self, mode: str, seed: int, root: Path, call: Call) -> None:
        self._mode = mode
        self._random = random.Random(f"{seed} {mode}")
        self._path = make_repo(root / f"calls-{mode}")
        self._call = call
        self.session_id = ""
        self.repo_id = ""

    async def play(self) -> None:
        name = f"calls-{self._mode}"
        repo = await self._call("POST", "/api/repos", {"path": str(self._path)}, f"{name}-repo")
        self.repo_id = repo["id"]
        body = {"repoId": repo["id"], "agent": "demo", "permissionMode": self._mode}
        self.session_id = (await self._call("POST", "/api/sessions", body, f"{name}-open"))["id"]
        for number in range(PROMPTS):
            arguments: Json = {"worktreeId": repo["id"], "agenticTool": "demo", "title": f"{name}-{number}"}
            arguments["permissionMode"] = self._mode
            if self._random.random() < 0.5:
                arguments["idempotencyKey"] = f"key-{number}"
            # Without a key these are two separate calls.
            text = " ".join([f"[[mcp {CREATE} {json.dumps(arguments)}]]"] * 2)
            await self._call("POST", f"/api/sessions/{self.session_id}/prompt", {"text": text}, f"{name}-{number}")
            await asyncio.sleep(self._random.uniform(0, 0.6))

    async def settled(self) -> None:
        """Waits until every call is decided, carried out and reported."""

        async def look() -> bool:
            return not any(_open(call) for call in await self._calls())

        await eventually(look, "all calls are settled", within=SETTLE, pause=0.09)

    async def _calls(self) -> list[Json]:
        return (await self._call("GET", f"/api/sessions/{self.session_id}/calls?limit=200"))["calls"]


def _open(call: Json) -> bool:
    untold = call["approvalId"] and not call["answeredAt"] and call["toldTaskId"] is None
    return call["state"] in ("asked", "acting") or bool(untold)


async def check_calls(callers: list[Caller], client: Client) -> None:
    """Compares the recorded calls with the sessions: none exists twice, none without a call, and every outcome is
    known."""
    for caller in callers:
        path = f"/api/sessions/{caller.session_id}/calls?limit=200"
        calls: list[Json] = (await client.get(path))["calls"]
        sessions = (await client.get(f"/api/sessions?repoId={caller.repo_id}&limit=200"))["sessions"]
        created = [entry for entry in sessions if entry["id"] != caller.session_id]
        done = [entry["outcome"]["session_id"] for entry in calls if entry["state"] == "done"]
        assert len(done) == len(set(done)), "two calls have the same outcome"
        assert set(done) == {entry["id"] for entry in created}, "a session is missing, or nobody called for it"
        assert not any(_open(entry) for entry in calls)
        titles = Counter(entry["title"] for entry in created)
        for call in calls:
            most = 1 if call["key"] else 2
            assert titles[call["arguments"]["title"]] <= most, f"{call['arguments']} was done too often"
