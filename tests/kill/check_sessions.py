"""Checks the sessions after a kill run: nothing lost, nothing twice, everything in order and complete."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from bough.core.state.reports import callbacks
from tests.kill.kill_run import KillRun
from tests.kill.records import Turn, read_turns
from tests.kill.traffic import Sent
from tests.support.client import Client

Json = dict[str, Any]


async def check_sessions(run: KillRun, client: Client) -> None:
    """Compares Bough's rows with what was acknowledged and with the agents' own records."""
    by_session: dict[str, list[Sent]] = defaultdict(list)
    for sent in run.ledger.sent:
        by_session[sent.session_id].append(sent)
    turns: dict[str, list[Turn]] = {}
    for session_id, prompts in by_session.items():
        session = await client.get(f"/api/sessions/{session_id}")
        tasks = (await client.get(f"/api/sessions/{session_id}/tasks?limit=500"))["tasks"]
        prompted = [task["id"] for task in tasks if task["source"] != "callback"]
        assert prompted == [sent.task_id for sent in prompts], "a prompt was lost or doubled"
        disturbed = session_id in run.ledger.disturbed
        joined, tasks = split_joined(tasks)
        check_joined(joined, tasks)
        if not disturbed:
            check_order(session["messages"], tasks)
        cwd = session["cwd"]
        record = turns[cwd] = turns.get(cwd) or read_turns(run.folder / "data" / "demo", cwd)
        expected = {sent.task_id: sent.expected for sent in prompts}
        for task in tasks:
            check_task(task, session["messages"], record, expected.get(task["id"]), disturbed)
    pending = await client.get("/api/approvals?status=pending&limit=500")
    assert pending["approvals"] == [], "an approval is orphaned"


def split_joined(tasks: list[Json]) -> tuple[list[Json], list[Json]]:
    """Returns the reports that were delivered with another one, and the tasks that had a turn of their own."""
    joined = [task for task in tasks if task["stopReason"] == callbacks.JOINED]
    return joined, [task for task in tasks if task not in joined]


def check_joined(joined: list[Json], tasks: list[Json]) -> None:
    """Q3: Checks that each report without a turn of its own is part of exactly one other."""
    for report in joined:
        carriers = [task["id"] for task in tasks if task["source"] == "callback" and report["prompt"] in task["prompt"]]
        assert len(carriers) == 1 and report["status"] == "completed", f"{report} is in {carriers}"


def check_order(messages: list[Json], tasks: list[Json]) -> None:
    """Checks that the transcript goes task by task and that each task starts with its prompt."""
    order = [message["taskId"] for message in messages if message["taskId"]]
    seen = list(dict.fromkeys(order))
    assert seen == [task["id"] for task in tasks]
    assert order == [task_id for task_id in seen for _ in range(order.count(task_id))], "turns are mixed up"


def check_task(
    task: Json, messages: list[Json], record: list[Turn], expected: list[str] | None, disturbed: bool
) -> None:
    """Checks one prompt or report. `expected` holds its answers, if they are known; in a `disturbed` session it may
    have been cancelled."""
    prompt, source = task["prompt"], task["source"]
    name = f"{task['id']} ({prompt[:200]!r})"
    assert task["status"] in (("completed", "cancelled") if disturbed else ("completed",)), f"{name}: {task}"
    mine = [turn for turn in record if turn.concerns(prompt, source)]
    originals = [turn for turn in mine if turn.carries(prompt, source)]
    assert len(originals) <= 1, f"{name} was sent {len(originals)} times to living agents"
    assert len(mine) <= task["attempt"], f"{name} was sent {len(mine)} times in {task['attempt']} attempts"
    for turn in originals:
        assert prompt not in turn.past, f"{name} was sent as part of the past as well"
    texts = [
        message["content"]["text"]
        for message in messages
        if message["taskId"] == task["id"] and message["role"] == "agent" and message["content"]["type"] == "text"
    ]
    answer: list[str] = []
    if task["status"] == "completed":
        # An answer is lost if its keeper was killed before journaling it: then the transcript says that the turn was
        # interrupted, and another attempt follows.
        answered = [turn.end for turn in mine].count("end_turn")
        errors = [entry for entry in messages if entry["taskId"] == task["id"] and entry["content"]["type"] == "error"]
        assert mine and mine[-1].end == "end_turn", f"{name} was not answered"
        assert answered <= 1 + len(errors), f"{name} was answered {answered} times"
        answer = mine[-1].said
        assert texts[len(texts) - len(answer) :] == answer, f"{name}: {texts[-2:]} is not {answer[-2:]}"
        if task["attempt"] == 1:
            assert texts == answer == (answer if expected is None else expected)
    for text in texts[: len(texts) - len(answer)]:
        beginning = any(whole.startswith(text) for whole in expected or [])
        assert beginning or text.startswith("You said"), f"{name}: {text[:200]!r}"
