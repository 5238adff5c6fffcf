"""A model of sessions: what was acknowledged, and what must hold at any moment and once everything has ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bough.model.task import IN_FLIGHT, MOVES, TERMINAL, TaskStatus
from tests.support.client import Client

Json = dict[str, Any]
DECIDED = ("allowed", "denied", "cancelled", "expired")


def reachable(status: TaskStatus) -> frozenset[TaskStatus]:
    """Returns every status that a task can have after this one, with itself."""
    seen: set[TaskStatus] = {status}
    left: list[TaskStatus] = [status]
    while left:
        for following in MOVES[left.pop()] - seen:
            seen.add(following)
            left.append(following)
    return frozenset(seen)


AFTER = {status: reachable(status) for status in MOVES}


@dataclass
class ModelSession:
    """A session as the model knows it."""

    id: str
    status: str = "active"
    # The prompts that were acknowledged, in the order of their queue.
    prompts: list[str] = field(default_factory=list[str])


class Model:
    """All sessions of a run, and what was seen of them before."""

    def __init__(self) -> None:
        self.sessions: list[ModelSession] = []
        # Texts that tasks say, by task.
        self.said: dict[str, str] = {}
        self._tasks: dict[str, Json] = {}
        self._approvals: dict[str, Json] = {}

    async def check(self, client: Client) -> None:
        """Checks what holds at any moment."""
        for session in self.sessions:
            await self._check_session(client, session)
        await self._check_approvals(client)

    async def _check_session(self, client: Client, session: ModelSession) -> None:
        tasks = await read_tasks(client, session)
        own = [task["id"] for task in tasks if task["source"] != "callback"]
        assert own == session.prompts, "a prompt was lost, doubled or moved"
        assert sum(task["status"] in IN_FLIGHT for task in tasks) <= 1, "two turns of a session run at once"
        started = [number for number, task in enumerate(tasks) if task["sentAttempt"]]
        for task in tasks[: started[-1]] if started else []:
            assert task["status"] != "queued", "a prompt was overtaken"
        for task in tasks:
            self._check_task(task)
        status = (await client.get(f"/api/sessions/{session.id}?messages=false"))["status"]
        assert status == session.status, f"session {session.id} is {status}, not {session.status}"

    def _check_task(self, task: Json) -> None:
        """Every task moves forward only, and ends once."""
        before = self._tasks.get(task["id"])
        if before is not None:
            assert task["status"] in AFTER[before["status"]], f"{before['status']} became {task['status']}"
            assert task["attempt"] >= before["attempt"] and task["sentAttempt"] >= before["sentAttempt"]
            if before["status"] in TERMINAL:
                assert task["endedAt"] == before["endedAt"], "a task ended twice"
        assert (task["endedAt"] is not None) == (task["status"] in TERMINAL)
        self._tasks[task["id"]] = task

    async def _check_approvals(self, client: Client) -> None:
        """A decision stays as it is, and no question outlives its turn."""
        approvals = (await client.get("/api/approvals?limit=500"))["approvals"]
        for approval in approvals:
            before = self._approvals.get(approval["id"])
            if before is not None and before["status"] in DECIDED:
                assert (approval["status"], approval["decision"]) == (before["status"], before["decision"])
            if approval["status"] == "pending":
                task = await client.get(f"/api/tasks/{approval['taskId']}")
                if task["status"] in TERMINAL:
                    # It may have ended since the list was read; then the approval has ended with it.
                    again = await client.get(f"/api/approvals/{approval['id']}")
                    assert again["status"] != "pending", "an approval outlived its turn"
            self._approvals[approval["id"]] = approval
        known = {approval["id"] for approval in approvals}
        assert known >= set(self._approvals), "an approval was lost"

    async def check_end(self, client: Client) -> None:
        """Checks what holds once nothing is left to do."""
        await self.check(client)
        pending = (await client.get("/api/approvals?status=pending&limit=500"))["approvals"]
        assert pending == [], "an approval is orphaned"
        for session in self.sessions:
            tasks = await read_tasks(client, session)
            messages = await client.get(f"/api/sessions/{session.id}/messages")
            assert all(task["status"] in TERMINAL for task in tasks), "a prompt did not end"
            prompts = Counter(entry["taskId"] for entry in messages if entry["role"] == "user" and entry["taskId"])
            assert all(prompts[task_id] == 1 for task_id in session.prompts), "a prompt is not in its transcript once"
            for task in tasks:
                self._check_words(task, messages)
        await self._check_totals(client)

    def _check_words(self, task: Json, messages: list[Json]) -> None:
        """A turn that completed in one attempt has said what it was told to say, once."""
        words = self.said.get(task["id"])
        if words is None or task["status"] != "completed" or task["attempt"] > 1:
            return
        texts = [
            entry["content"]["text"]
            for entry in messages
            if entry["taskId"] == task["id"] and entry["role"] == "agent" and entry["content"]["type"] == "text"
        ]
        assert texts == [words], f"{texts} is not [{words}]"

    async def _check_totals(self, client: Client) -> None:
        """B5: Each session has used as many turns as were sent and have ended."""
        for session in self.sessions:
            row = await client.get(f"/api/sessions/{session.id}?messages=false")
            sent = [task for task in await read_tasks(client, session) if task["sentAttempt"]]
            assert row["turns"] == len(sent), f"{row['turns']} turns are counted of {len(sent)}"


async def read_tasks(client: Client, session: ModelSession) -> list[Json]:
    """Returns the tasks of a session in the order of its queue."""
    return (await client.get(f"/api/sessions/{session.id}/tasks?limit=500"))["tasks"]
