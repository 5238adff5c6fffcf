"""Plays random lives of sessions on a real server: prompts, queues, stops, forks, children, approvals, budgets, ends,
suspended and killed agents, and restarts of the server. The model is checked after every step.

Each step picks its target by a number that Hypothesis draws, never by what the server answered, so that a life can be
played again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bough.model.task import MOVES, TERMINAL
from tests.core.helpers import ending_keepers
from tests.fuzz.session_model import Model, ModelSession
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import Running, serving

T = TypeVar("T")

PROMPTS = {
    "say": "[[say {words}]]",
    "slow": "[[slow 3 0.2]]",
    "write": "[[write file-{number} text]]",
    "run": "[[run true]]",
    "fail": "[[fail on purpose]]",
    "crash": "[[crash]]",
}
# Everything drains well within this unless something hangs.
DRAIN = 120.0
MOMENT = 0.05
OPEN = ",".join(sorted(set(MOVES) - TERMINAL))
ANY = st.integers(0, 9)
SETTINGS: dict[str, Any] = {
    "stop_agents": False,
    "max_sessions": 100,
    "max_agents": 3,
    "max_deaths": 100_000,
    "max_depth": 100,
    "stop_timeout": 5,
    "checkpoints": False,
}


class SessionLife(RuleBasedStateMachine):
    """One run of a server with a few sessions."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="bough-life-"))
        self.runner = asyncio.Runner()
        self.model = Model()
        self.number = 0
        self.repo_id = ""
        self.server: Running | None = None
        self._stack = contextlib.AsyncExitStack()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @property
    def client(self) -> Client:
        assert self.server is not None
        return self.server.client

    async def start(self) -> None:
        self.server = await self._stack.enter_async_context(serving(self.folder, **SETTINGS))

    async def call(self, method: str, path: str, body: Json | None = None) -> tuple[int, Json]:
        """Makes a call that may be refused, but must not fail."""
        response = await self.client.http.request(method, path, json=body)
        assert response.status_code < 500, f"{method} {path}: {response.status_code} {response.text}"
        return response.status_code, response.json()

    def session(self, index: int) -> ModelSession:
        return self.model.sessions[index % len(self.model.sessions)]

    def text(self, kind: str) -> tuple[str, str | None]:
        """Returns a prompt that no other equals, and the words that it makes the agent say."""
        self.number += 1
        words = f"words {self.number}" if kind == "say" else None
        return PROMPTS[kind].format(words=words, number=self.number), words

    def acknowledge(self, session: ModelSession, task_id: str, words: str | None) -> None:
        session.prompts.append(task_id)
        if words is not None:
            self.model.said[task_id] = words

    @initialize(mode=st.sampled_from(["default", "bypassPermissions"]))
    def begin(self, mode: str) -> None:
        async def work() -> None:
            await self.start()
            self.repo_id = (await self.client.repo(make_repo(self.folder / "work" / "repo")))["id"]
            await self._create(mode)

        self.run(work())

    async def _create(self, mode: str) -> None:
        body = {"repoId": self.repo_id, "agent": "demo", "permissionMode": mode}
        status, session = await self.call("POST", "/api/sessions", body)
        assert status == 201, session
        self.model.sessions.append(ModelSession(session["id"]))

    @rule(mode=st.sampled_from(["default", "bypassPermissions"]))
    def create(self, mode: str) -> None:
        self.run(self._create(mode))

    @rule(index=ANY, kind=st.sampled_from(sorted(PROMPTS)), resume=st.booleans())
    def prompt(self, index: int, kind: str, resume: bool) -> None:
        session = self.session(index)
        text, words = self.text(kind)
        path = f"/api/sessions/{session.id}/prompt"
        status, answer = self.run(self.call("POST", path, {"text": text, "resume": resume}))
        if session.status == "active" or resume:
            assert status == 202, answer
            session.status = "active"
            self.acknowledge(session, answer["taskId"], words)
        else:
            assert (status, answer["error"]["code"]) == (409, "session_ended"), answer

    @rule(index=ANY, how=st.sampled_from(["fork", "spawn"]), kind=st.sampled_from(sorted(PROMPTS)))
    def branch(self, index: int, how: str, kind: str) -> None:
        text, words = self.text(kind)
        path = f"/api/sessions/{self.session(index).id}/{how}"
        status, answer = self.run(self.call("POST", path, {"prompt": text}))
        assert status == 201, answer
        session = ModelSession(answer["sessionId"])
        self.model.sessions.append(session)
        self.acknowledge(session, answer["taskId"], words)

    @rule(index=ANY, place=ANY)
    def cancel_task(self, index: int, place: int) -> None:
        session = self.session(index)
        if session.prompts:
            task_id = session.prompts[place % len(session.prompts)]
            status, answer = self.run(self.call("DELETE", f"/api/tasks/{task_id}"))
            assert status == 200 or answer["error"]["code"] in ("task_not_queued", "task_not_running"), answer

    @rule(index=ANY, place=ANY)
    def edit_task(self, index: int, place: int) -> None:
        session = self.session(index)
        if not session.prompts:
            return
        task_id = session.prompts[place % len(session.prompts)]
        text, words = self.text("say")
        status, answer = self.run(self.call("PATCH", f"/api/tasks/{task_id}", {"prompt": text}))
        if status == 200:
            assert words is not None
            self.model.said[task_id] = words
        else:
            assert answer["error"]["code"] == "task_not_queued", answer

    @rule(index=ANY)
    def stop(self, index: int) -> None:
        status, answer = self.run(self.call("POST", f"/api/sessions/{self.session(index).id}/stop", {}))
        assert status == 200, answer

    @rule(index=ANY)
    def resume(self, index: int) -> None:
        session = self.session(index)
        status, answer = self.run(self.call("POST", f"/api/sessions/{session.id}/resume", {}))
        assert status == 200, answer
        session.status = "active"

    @rule(index=ANY, force=st.booleans())
    def complete(self, index: int, force: bool) -> None:
        session = self.session(index)
        path = f"/api/sessions/{session.id}/complete"
        status, answer = self.run(self.call("POST", path, {"force": force}))
        if status == 200:
            session.status = "completed"
        else:
            code = "session_busy" if session.status == "active" else "session_ended"
            assert (status, answer["error"]["code"]) == (409, code), answer

    @rule(index=ANY, archived=st.booleans())
    def archive(self, index: int, archived: bool) -> None:
        session = self.session(index)
        path = f"/api/sessions/{session.id}/archive"
        status, answer = self.run(self.call("POST", path, {"archived": archived}))
        if status != 200:
            assert answer["error"]["code"] == "session_busy", answer
        elif archived and session.status == "active":
            session.status = "completed"

    @rule(index=ANY)
    def cancel(self, index: int) -> None:
        session = self.session(index)
        status, answer = self.run(self.call("DELETE", f"/api/sessions/{session.id}"))
        assert status == 200, answer
        if session.status == "active":
            session.status = "cancelled"

    @rule(index=ANY, turns=st.integers(1, 3))
    def set_budget(self, index: int, turns: int) -> None:
        path = f"/api/sessions/{self.session(index).id}/budget"
        status, answer = self.run(self.call("PUT", path, {"maxTurns": turns}))
        assert status == 200, answer

    @rule(place=ANY, decision=st.sampled_from(["allow", "deny"]))
    def decide(self, place: int, decision: str) -> None:
        """Answers a question. A second answer is refused."""

        async def work() -> None:
            approvals = (await self.client.get("/api/approvals?status=pending&limit=500"))["approvals"]
            if not approvals:
                return
            path = f"/api/approvals/{approvals[place % len(approvals)]['id']}"
            status, answer = await self.call("POST", path, {"decision": decision})
            assert status == 200 or answer["error"]["code"] == "approval_decided", answer
            status, answer = await self.call("POST", path, {"decision": "allow"})
            assert (status, answer["error"]["code"]) == (409, "approval_decided"), answer

        self.run(work())

    @rule(index=ANY)
    def suspend(self, index: int) -> None:
        """Ends the process of an idle agent, as its idle time does."""

        async def work() -> None:
            assert self.server is not None
            agents = self.server.services.runner.agents
            agent = agents.get(self.session(index).id)
            if agent is not None and not agent.busy:
                await agents.suspend(agent)

        self.run(work())

    @rule(index=ANY)
    def kill_agent(self, index: int) -> None:
        async def work() -> None:
            assert self.server is not None
            agent = self.server.services.runner.agents.get(self.session(index).id)
            # The number of a process that has ended may belong to another one.
            if agent is not None and not agent.down:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(agent._link.pid, signal.SIGKILL)  # pyright: ignore[reportPrivateUsage]

        self.run(work())

    @rule()
    def restart(self) -> None:
        """Ends the server in order and starts another; working agents continue meanwhile."""

        async def work() -> None:
            await self._stack.aclose()
            await self.start()

        self.run(work())

    @rule()
    def wait(self) -> None:
        self.run(asyncio.sleep(MOMENT))

    @invariant()
    def holds(self) -> None:
        if self.server is not None:
            self.run(self.model.check(self.client))

    def teardown(self) -> None:
        try:
            if self.server is not None:
                self.run(self._finish())
        finally:
            self.run(self._clean_up())
            self.runner.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    async def _finish(self) -> None:
        """Lets everything come to its end, and checks the model a last time."""
        open_tasks: list[str] = []

        async def look() -> bool:
            for approval in (await self.client.get("/api/approvals?status=pending&limit=500"))["approvals"]:
                await self.call("POST", f"/api/approvals/{approval['id']}", {"decision": "allow"})
            # An agent that fails before it is sent a prompt pauses the queue, also while this waits.
            for session in self.model.sessions:
                row = await self.client.get(f"/api/sessions/{session.id}?messages=false")
                if session.status == "active" and row["queuePaused"]:
                    await self.call("POST", f"/api/sessions/{session.id}/resume", {})
            tasks = (await self.client.get(f"/api/tasks?limit=500&status={OPEN}"))["tasks"]
            open_tasks[:] = [f"{task['id']} {task['status']} of {task['sessionId']}" for task in tasks]
            return not open_tasks

        await eventually(look, lambda: f"no task is open; these are: {open_tasks}", within=DRAIN, pause=MOMENT)
        await self.model.check_end(self.client)

    async def _clean_up(self) -> None:
        async with ending_keepers(self.folder / "data"):
            await self._stack.aclose()
