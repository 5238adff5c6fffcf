"""Tests a session's queue over REST: order, limit, edit, move, cancel, pause, stop and complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.api.error_responses import Json, refused
from tests.support.client import Client
from tests.support.server import Running, serving


class Queue:
    """A session and helpers to fill, pause and read its queue."""

    def __init__(self, client: Client, session: Json) -> None:
        self.client = client
        self.id: str = session["id"]
        self.path = f"/api/sessions/{self.id}"

    async def pause(self, paused: bool = True) -> Json:
        return await self.client.call("PATCH", self.path, json={"queuePaused": paused})

    async def fill(self, *texts: str) -> list[str]:
        """Queues prompts behind a turn that never ends, so that they stay queued."""
        running = await self.client.prompt(self.id, "[[hang]]")
        await self.client.wait_task(running, "running")
        return [running, *[await self.client.prompt(self.id, text) for text in texts]]

    async def waiting(self) -> list[str]:
        """Returns the queued prompts in order."""
        page = await self.client.get(f"{self.path}/tasks?status=queued&limit=500")
        return [task["prompt"] for task in page["tasks"]]

    async def move(self, task: str, before: str) -> Any:
        return await self.client.http.patch(f"/api/tasks/{task}", json={"before": before})


@pytest.fixture
async def queue(server: Running) -> AsyncGenerator[Queue]:
    repo = await server.client.repo(server.repo())
    yield Queue(server.client, await server.client.session(repo["id"]))


async def test_prompts_run_in_order(queue: Queue) -> None:
    """Q1, Q2: 30 prompts sent one after another are answered in order, each exactly once."""
    tasks = [await queue.client.prompt(queue.id, f"[[say {number}]]") for number in range(30)]
    await queue.client.wait_task(tasks[-1])
    assert await queue.client.texts(queue.id) == [str(number) for number in range(30)]
    messages = await queue.client.get(f"{queue.path}/messages")
    assert [message["role"] for message in messages] == ["user", "agent"] * 30
    page = await queue.client.get(f"{queue.path}/tasks?limit=100")
    assert [task["id"] for task in page["tasks"]] == tasks
    assert {task["status"] for task in page["tasks"]} == {"completed"}
    starts = [task["startedAt"] for task in page["tasks"]]
    assert starts == sorted(starts)
    assert all(
        earlier["endedAt"] <= following["startedAt"]
        for earlier, following in zip(page["tasks"], page["tasks"][1:], strict=False)
    )


async def test_a_turn_never_overlaps_another(queue: Queue) -> None:
    """Q1: Prompts that arrive at once run one at a time, in the same order in queue and transcript."""
    tasks = await asyncio.gather(*(queue.client.prompt(queue.id, f"[[say {number}]]") for number in range(20)))
    page = await queue.client.get(f"{queue.path}/tasks?limit=100")
    order = [task["id"] for task in page["tasks"]]
    assert set(order) == set(tasks)
    await queue.client.wait_task(order[-1])
    texts = [f"[[say {text}]]" for text in await queue.client.texts(queue.id)]
    assert texts == [task["prompt"] for task in page["tasks"]] == await queue.client.texts(queue.id, "user")


async def test_the_queue_has_a_limit(tmp_path: Path) -> None:
    """Q1: With `max_queue` prompts queued, the next is refused with 429 and not stored; it is accepted once one is
    removed."""
    async with serving(tmp_path, max_queue=3) as server:
        repo = await server.client.repo(server.repo())
        queue = Queue(server.client, await server.client.session(repo["id"]))
        tasks = await queue.fill("a", "b", "c")
        answer = await queue.client.http.post(f"{queue.path}/prompt", json={"text": "d"})
        error = refused(answer, 429, "queue_full")
        assert error["details"]["limit"] == 3
        assert "3" in error["message"]
        assert int(answer.headers["retry-after"]) > 0
        assert await queue.waiting() == ["a", "b", "c"]
        assert len(await queue.client.texts(queue.id, "user")) == 4
        await queue.client.call("DELETE", f"/api/tasks/{tasks[1]}")
        await queue.client.prompt(queue.id, "d")
        assert await queue.waiting() == ["b", "c", "d"]


async def test_queued_prompts_can_be_edited(queue: Queue) -> None:
    """Q5: Editing a queued prompt changes the queue and the transcript; a running prompt cannot be edited."""
    running, first, second = await queue.fill("[[say one]]", "[[say two]]")
    edited = await queue.client.call("PATCH", f"/api/tasks/{first}", json={"prompt": "[[say changed]]"})
    assert (edited["prompt"], edited["status"]) == ("[[say changed]]", "queued")
    assert await queue.client.texts(queue.id, "user") == ["[[hang]]", "[[say changed]]", "[[say two]]"]
    for wrong in ({}, {"prompt": ""}, {"prompt": "a\0"}, {"prompt": None}, {"text": "x"}, {"position": 0}):
        refused(await queue.client.http.patch(f"/api/tasks/{first}", json=wrong), 400)
    refused(await queue.client.http.patch(f"/api/tasks/{first}", json={"prompt": "x" * 2_000_000}), 413)
    refused(await queue.client.http.patch(f"/api/tasks/{running}", json={"prompt": "x"}), 409, "task_not_queued")
    await queue.client.post(f"{queue.path}/stop")
    await queue.client.post(f"{queue.path}/resume")
    await queue.client.wait_task(second)
    assert await queue.client.texts(queue.id) == ["changed", "two"]
    refused(await queue.client.http.patch(f"/api/tasks/{first}", json={"prompt": "x"}), 409, "task_not_queued")


async def test_queued_prompts_can_be_moved(queue: Queue) -> None:
    """Q5: A prompt can be moved before another or to the end; queue, transcript and turns follow the new order."""
    running, a, b, c, d = await queue.fill(*(f"[[say {name}]]" for name in "abcd"))
    moves = [(d, a, "dabc"), (a, c, "dbac"), (c, "", "dbac"), (d, "", "bacd"), (b, b[-8:], None), (b, a, "bacd")]
    for task, before, expected in moves:
        answer = await queue.move(task, before)
        if expected is None:
            refused(answer, 409, "task_not_queued")
            continue
        assert answer.status_code == 200, answer.text
        assert await queue.waiting() == [f"[[say {name}]]" for name in expected]
    both = await queue.client.call("PATCH", f"/api/tasks/{c}", json={"before": b, "prompt": "[[say C]]"})
    assert both["prompt"] == "[[say C]]"
    expected_texts = [f"[[say {name}]]" for name in "Cbad"]
    assert await queue.waiting() == expected_texts
    assert await queue.client.texts(queue.id, "user") == ["[[hang]]", *expected_texts]
    refused(await queue.move(running, a), 409, "task_not_queued")
    refused(await queue.move(a, running), 409, "task_not_queued")
    await queue.client.post(f"{queue.path}/stop")
    await queue.client.post(f"{queue.path}/resume")
    await queue.client.wait_task(d)
    assert await queue.client.texts(queue.id) == list("Cbad")


async def test_prompts_cannot_move_between_sessions(server: Running, queue: Queue) -> None:
    """Q5: A prompt cannot be moved into another session's queue."""
    repo = await server.client.repo(server.repo("other"))
    other = Queue(server.client, await server.client.session(repo["id"]))
    _, mine = await queue.fill("mine")
    _, theirs = await other.fill("theirs")
    refused(await queue.move(mine, theirs), 409, "task_not_queued")
    assert (await queue.waiting(), await other.waiting()) == (["mine"], ["theirs"])


async def test_queued_prompts_can_be_cancelled(queue: Queue) -> None:
    """Q5: A cancelled prompt never runs and stays readable as cancelled; the other prompts run."""
    _, a, b, c = await queue.fill("[[say a]]", "[[say b]]", "[[say c]]")
    cancelled = await queue.client.call("DELETE", f"/api/tasks/{b}")
    assert (cancelled["status"], cancelled["attempt"]) == ("cancelled", 0)
    assert cancelled["endedAt"] is not None
    assert await queue.waiting() == ["[[say a]]", "[[say c]]"]
    refused(await queue.move(a, b), 409, "task_not_queued")
    await queue.client.post(f"{queue.path}/stop")
    await queue.client.post(f"{queue.path}/resume")
    await queue.client.wait_task(c)
    assert await queue.client.texts(queue.id) == ["a", "c"]
    assert "[[say b]]" in await queue.client.texts(queue.id, "user")


async def test_cancelling_the_running_task_stops_it(queue: Queue) -> None:
    """Q5, T6: `DELETE` on the running task stops it: the task is cancelled and the queue is paused."""
    running, _ = await queue.fill("next")
    assert (await queue.client.call("DELETE", f"/api/tasks/{running}"))["status"] == "cancelled"
    assert (await queue.client.get(queue.path))["queuePaused"] is True
    assert await queue.waiting() == ["next"]
    refused(await queue.client.http.delete(f"/api/tasks/{running}"), 409)


async def test_a_paused_queue_waits(queue: Queue) -> None:
    """Q5: With `queuePaused`, the running turn ends and no other starts until the queue is unpaused."""
    running = await queue.client.prompt(queue.id, "[[slow 4 0.4]]")
    await queue.client.wait_task(running, "running")
    waiting = await queue.client.prompt(queue.id, "[[say next]]")
    assert (await queue.pause())["queuePaused"] is True
    assert (await queue.client.wait_task(running))["status"] == "completed"
    assert (await queue.client.get(f"/api/tasks/{waiting}"))["status"] == "queued"
    assert (await queue.pause(False))["queuePaused"] is False
    assert (await queue.client.wait_task(waiting))["status"] == "completed"


async def stopped_with_one_queued(queue: Queue) -> str:
    """Stops a turn while a prompt is queued, checks that the prompt stays there, and returns its task."""
    running, waiting = await queue.fill("[[say queued]]")
    stopped = await queue.client.post(f"{queue.path}/stop")
    assert (stopped["task"]["id"], stopped["task"]["status"]) == (running, "cancelled")
    assert stopped["session"]["queuePaused"] is True
    assert stopped["session"]["activity"] == "idle"
    assert (await queue.client.get(f"/api/tasks/{waiting}"))["status"] == "queued"
    return waiting


async def test_resume_continues_a_stopped_queue(queue: Queue) -> None:
    """T6: A stop ends the turn and pauses the queue; `resume` continues it."""
    waiting = await stopped_with_one_queued(queue)
    assert (await queue.client.post(f"{queue.path}/resume"))["queuePaused"] is False
    await queue.client.wait_task(waiting)
    assert await queue.client.texts(queue.id) == ["queued"]


async def test_a_prompt_continues_a_stopped_queue(queue: Queue) -> None:
    """T6: A stop ends the turn and pauses the queue; the next prompt continues it and comes last."""
    await stopped_with_one_queued(queue)
    await queue.client.wait_task(await queue.client.prompt(queue.id, "[[say after]]"))
    assert await queue.client.texts(queue.id) == ["queued", "after"]


async def test_a_stop_without_a_running_turn(queue: Queue) -> None:
    """T6: A stop without a running turn changes nothing; one that expects another task is refused with that task's
    status."""
    done = await queue.client.ask(queue.id, "hello")
    stopped = await queue.client.post(f"{queue.path}/stop")
    assert stopped["task"] is None
    answer = await queue.client.http.post(f"{queue.path}/stop", json={"expectedTaskId": done["id"]})
    assert refused(answer, 409, "task_not_running")["details"]["status"] == "completed"
    assert (await queue.client.ask(queue.id, "again"))["status"] == "completed"
    running, _ = await queue.fill("next")
    refused(await queue.client.http.post(f"{queue.path}/stop", json={"expectedTaskId": done["id"]}), 409)
    assert (await queue.client.get(f"/api/tasks/{running}"))["status"] == "running"


async def test_complete_refuses_to_drop_prompts(queue: Queue) -> None:
    """T6: Completing is refused with 409 while a turn runs or prompts are queued; with `force`, they are cancelled."""
    running, *waiting = await queue.fill("a", "b")
    error = refused(await queue.client.http.post(f"{queue.path}/complete"), 409, "session_busy")
    assert error["details"]["queued"] == 2
    assert "force" in error["message"]
    await queue.client.post(f"{queue.path}/stop")
    refused(await queue.client.http.post(f"{queue.path}/complete", json={"force": False}), 409, "session_busy")
    ended = await queue.client.post(f"{queue.path}/complete", {"force": True})
    assert (ended["status"], ended["metadata"]["reason"]) == ("completed", "completed")
    for task in (running, *waiting):
        assert (await queue.client.get(f"/api/tasks/{task}"))["status"] == "cancelled"
    assert await queue.client.post(f"{queue.path}/complete") == ended


async def test_a_forced_complete_ends_the_turn(queue: Queue) -> None:
    """T6, T3: A forced complete cancels the running turn and leaves the session idle."""
    running, waiting = await queue.fill("a")
    ended = await queue.client.post(f"{queue.path}/complete", {"force": True})
    assert (ended["status"], ended["activity"]) == ("completed", "idle")
    for task in (running, waiting):
        assert (await queue.client.get(f"/api/tasks/{task}"))["status"] == "cancelled"


async def test_a_failed_turn_does_not_block_the_queue(queue: Queue) -> None:
    """T6: The next prompt runs after a turn has failed."""
    failing = await queue.client.prompt(queue.id, "[[fail on purpose]]")
    following = await queue.client.prompt(queue.id, "[[say fine]]")
    failed = await queue.client.wait_task(failing)
    assert failed["status"] == "failed"
    assert "on purpose" in failed["error"]["message"]
    assert (await queue.client.wait_task(following))["status"] == "completed"


async def test_lists_of_tasks(queue: Queue) -> None:
    """Q5, A2: A session's tasks are listed in queue order, all tasks newest first; unknown statuses are refused."""
    running, a, b = await queue.fill("a", "b")
    of_session = await queue.client.get(f"{queue.path}/tasks?limit=2")
    assert ([task["id"] for task in of_session["tasks"]], of_session["total"]) == ([running, a], 3)
    every = await queue.client.get("/api/tasks")
    assert [task["id"] for task in every["tasks"]] == [b, a, running]
    assert (await queue.client.get("/api/tasks?status=running,queued&limit=1&offset=1"))["total"] == 3
    for query in ("status=waiting", "status=queued,x", "status=,"):
        refused(await queue.client.http.get(f"/api/tasks?{query}"), 400, "bad_status")


async def test_a_failed_prompt_is_tried_again_with_its_files(queue: Queue) -> None:
    """T3: The prompt of a failed or cancelled task is queued again with its files; any other is refused with 409."""
    files = [{"name": "a.txt", "text": "attached"}]
    path = f"/api/sessions/{queue.id}/prompt"
    failed = await queue.client.post(path, {"text": "[[fail no]]", "files": files})
    task = await queue.client.wait_task(failed.get("taskId") or failed["id"])
    assert task["status"] == "failed"
    again = await queue.client.post(f"/api/tasks/{task['id']}/retry", {})
    assert (again["prompt"], again["source"], again["id"] != task["id"]) == (task["prompt"], "user", True)
    ended = await queue.client.wait_task(again["id"])
    assert ended["status"] == "failed"
    messages = await queue.client.get(f"/api/sessions/{queue.id}/messages")
    attached = [message["content"]["files"] for message in messages if message["role"] == "user"]
    assert [[file["name"] for file in each] for each in attached] == [["a.txt"], ["a.txt"]]
    assert attached[0][0]["id"] != attached[1][0]["id"]
    done = await queue.client.ask(queue.id, "fine")
    error = refused(await queue.client.http.post(f"/api/tasks/{done['id']}/retry"), 409, "task_not_failed")
    assert error["details"]["status"] == "completed"
