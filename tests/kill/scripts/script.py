"""Defines what every script with a check of its own has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.client import Client
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

Json = dict[str, Any]
Call = Callable[..., Awaitable[Any]]


class CheckedScript:
    """A script in a repository of its own. `call` repeats a request with its key until it is acknowledged."""

    name: str

    def __init__(self, server: ServerProcess, call: Call) -> None:
        self.server = server
        self.path = make_repo(server.root / self.name)
        self.call = call
        self._number = 0

    @property
    def data(self) -> Path:
        return self.server.data

    async def play(self) -> None:
        """Sends the requests while processes are killed."""
        raise NotImplementedError

    async def check(self, client: Client) -> None:
        """Compares what was acknowledged with what is there, when nothing is killed anymore."""
        raise NotImplementedError

    async def repo(self) -> str:
        """Registers the repository and returns its id."""
        return (await self.call("POST", "/api/repos", {"path": str(self.path)}, self.key()))["id"]

    async def session(self, repo_id: str, agent: str = "demo", **fields: Any) -> str:
        body = {"repoId": repo_id, "agent": agent, "permissionMode": "bypassPermissions", **fields}
        return (await self.call("POST", "/api/sessions", body, self.key()))["id"]

    async def worktree(self, repo_id: str, branch: str) -> Json:
        return await self.call("POST", "/api/worktrees", {"repoId": repo_id, "branch": branch}, self.key())

    async def prompt(self, session_id: str, text: str) -> str:
        """Sends a prompt and returns its task's id."""
        return (await self.call("POST", f"/api/sessions/{session_id}/prompt", {"text": text}, self.key()))["taskId"]

    async def task(self, task_id: str) -> Json:
        return await self.call("GET", f"/api/tasks/{task_id}")

    def key(self) -> str:
        self._number += 1
        return f"{self.name}-{self._number}"
