"""What must hold after a storm: nothing lost, nothing twice, in order, whole. What must hold of trees beyond that is
`trees`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.support.client import Client

from .records import Turn, read_turns
from .storm import Storm
from .traffic import Sent

Json = dict[str, Any]


async def check(storm: Storm, client: Client) -> None:
    """Compares Bough's rows with what was acknowledged and with the agents' own records."""
    by_session: dict[str, list[Sent]] = defaultdict(list)
    for sent in storm.ledger.sent:
        by_session[sent.session_id].append(sent)
    turns: dict[str, list[Turn]] = {}
    for session_id, prompts in by_session.items():
        session = await client.get(f"/api/sessions/{session_id}")
        tasks = (await client.get(f"/api/sessions/{session_id}/tasks?limit=500"))["tasks"]
        asked = [task["id"] for task in tasks if task["source"] != "callback"]
        assert asked == [sent.task_id for sent in prompts], "a prompt was lost or doubled"
        disturbed = session_id in storm.ledger.disturbed
        if not disturbed:
            check_order(session["messages"], tasks)
        cwd = session["cwd"]
        record = turns[cwd] = turns.get(cwd) or read_turns(storm.folder / "data" / "demo", cwd)
        expected = {sent.task_id: sent.expected for sent in prompts}
        for task in tasks:
            check_task(task, session["messages"], record, expected.get(task["id"]), disturbed)
    left = await client.get("/api/approvals?status=pending&limit=500")
    assert left["approvals"] == [], "an approval is orphaned"


def check_order(messages: list[Json], tasks: list[Json]) -> None:
    """The transcript goes task by task, each beginning with its prompt."""
    order = [message["taskId"] for message in messages if message["taskId"]]
    seen = list(dict.fromkeys(order))
    assert seen == [task["id"] for task in tasks]
    assert order == [task_id for task_id in seen for _ in range(order.count(task_id))], "turns are mixed up"


def check_task(
    task: Json, messages: list[Json], record: list[Turn], expected: list[str] | None, disturbed: bool
) -> None:
    """One prompt or report: `expected` are its answers, if they are known; where people `disturbed`, it may have been
    cancelled."""
    prompt, source = task["prompt"], task["source"]
    name = f"{task['id']} ({prompt[:200]!r})"
    assert task["status"] in (("completed", "cancelled") if disturbed else ("completed",)), f"{name}: {task}"
    mine = [turn for turn in record if turn.concerns(prompt, source)]
    originals = [turn for turn in mine if turn.carries(prompt, source)]
    assert len(originals) <= 1, f"{name} was sent {len(originals)} times to living agents"
    assert len(mine) <= task["attempt"], f"{name} was sent {len(mine)} times in {task['attempt']} attempts"
    for turn in originals:
        assert prompt not in turn.past, f"{name} was sent as part of the past as well"
    said = [
        message["content"]["text"]
        for message in messages
        if message["taskId"] == task["id"] and message["role"] == "agent" and message["content"]["type"] == "text"
    ]
    answer: list[str] = []
    if task["status"] == "completed":
        # An answer that a keeper was killed over before it wrote it down is lost with it: then the transcript says that
        # the turn was cut off, and a further attempt was made.
        answered = [turn.end for turn in mine].count("end_turn")
        cut_off = [one for one in messages if one["taskId"] == task["id"] and one["content"]["type"] == "error"]
        assert mine and mine[-1].end == "end_turn", f"{name} was not answered"
        assert answered <= 1 + len(cut_off), f"{name} was answered {answered} times"
        answer = mine[-1].said
        assert said[len(said) - len(answer) :] == answer, f"{name}: {said[-2:]} is not {answer[-2:]}"
        if task["attempt"] == 1:
            assert said == answer == (answer if expected is None else expected)
    for text in said[: len(said) - len(answer)]:
        whole = any(text == one[: len(text)] for one in expected or [])
        assert whole or text.startswith("You said"), f"{name}: {text[:200]!r}"
