"""A client for tests and benchmarks: one-line REST calls, and waiting on events instead of sleeping."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
from websockets.asyncio.client import ClientConnection, connect

from tests.support.eventually import eventually

Json = dict[str, Any]
T = TypeVar("T")

# Long enough for a busy machine; a test that waits this long has failed.
PATIENCE = 40.0


class Events:
    """An open event stream; `seen` holds everything that came."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.seen: list[Json] = []

    async def next(self) -> Json:
        event = json.loads(await self._socket.recv())
        self.seen.append(event)
        return event

    async def until(self, matches: Callable[[Json], bool]) -> Json:
        """Returns the first event that matches; the ones before it are in `seen`."""
        async with asyncio.timeout(PATIENCE):
            while True:
                event = await self.next()
                if matches(event):
                    return event


class Client:
    """Everything that a person or a script can do, over HTTP."""

    def __init__(self, http: httpx.AsyncClient, url: str, token: str) -> None:
        self.http = http
        self.url = url
        self.token = token

    async def call(self, method: str, path: str, *, expect: int | None = None, **options: Any) -> Any:
        """Returns the decoded response. An unexpected status is an AssertionError that shows the body."""
        answer = await self.http.request(method, path, **options)
        is_expected = answer.status_code < 400 if expect is None else answer.status_code == expect
        assert is_expected, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def get(self, path: str, **options: Any) -> Any:
        return await self.call("GET", path, **options)

    async def post(self, path: str, body: Json | None = None, **options: Any) -> Any:
        return await self.call("POST", path, json=body or {}, **options)

    async def repo(self, path: Path) -> Json:
        return await self.post("/api/repos", {"path": str(path)})

    async def allow_git(self, repo_id: str, **choice: bool) -> Json:
        """Decides what git may run in a repository."""
        return await self.call("PATCH", f"/api/repos/{repo_id}/git", json=choice)

    async def session(self, repo_id: str, **fields: Any) -> Json:
        return await self.post("/api/sessions", {"repoId": repo_id, "agent": "demo", **fields})

    async def prompt(self, session_id: str, text: str, **fields: Any) -> str:
        answer = await self.post(f"/api/sessions/{session_id}/prompt", {"text": text, **fields})
        return answer["taskId"]

    async def eventually(self, look: Callable[[], Awaitable[T | None]], what: str = "") -> T:
        """Waits as `eventually` does, but looks again after each event instead of each pause."""
        async with self.events() as events:
            return await eventually(look, what, changed=events.next)

    @contextlib.asynccontextmanager
    async def events(self, session_id: str | None = None, cursor: int | None = None) -> AsyncGenerator[Events]:
        """Opens the event stream over WebSocket, ready to be read."""
        query = "&".join(
            f"{name}={value}" for name, value in (("sessionId", session_id), ("cursor", cursor)) if value is not None
        )
        address = f"{self.url.replace('http', 'ws', 1)}/api/events?{query}"
        headers = {"Authorization": f"Bearer {self.token}"}
        async with connect(address, additional_headers=headers, max_size=None) as socket:
            events = Events(socket)
            if cursor is None:
                await events.until(lambda event: event["type"] == "stream.ready")
            yield events

    async def wait_task(self, task_id: str, *statuses: str) -> Json:
        """Waits until a task has one of the statuses (by default, until it has ended)."""
        awaited = statuses or ("completed", "failed", "cancelled")
        task = await self.get(f"/api/tasks/{task_id}")
        async with self.events(task["sessionId"]) as events:
            task = await self.get(f"/api/tasks/{task_id}")
            while task["status"] not in awaited:
                patched = await events.until(lambda event: event["type"] == "task.patched")
                task = patched["data"] if patched["objectId"] == task["id"] else task
        return task

    async def ask(self, session_id: str, text: str) -> Json:
        """Sends a prompt and waits for the end of its turn."""
        return await self.wait_task(await self.prompt(session_id, text))

    async def approval(self, session_id: str) -> Json:
        """Waits for an approval of this session."""
        async with self.events(session_id) as events:
            page = await self.get(f"/api/approvals?status=pending&sessionId={session_id}")
            if page["approvals"]:
                return page["approvals"][0]
            return (await events.until(lambda event: event["type"] == "approval.created"))["data"]

    async def texts(self, session_id: str, role: str = "agent") -> list[str]:
        """Returns the session's texts of one role, in order."""
        messages = await self.get(f"/api/sessions/{session_id}/messages")
        return [
            message["content"]["text"]
            for message in messages
            if message["role"] == role and message["content"]["type"] == "text"
        ]
