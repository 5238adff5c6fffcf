"""What must hold after a storm: nothing lost, nothing twice, in order, whole, and nobody left behind."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from bough.core import replay
from bough.testing.client import Client

from .storm import Sent, Storm

Json = dict[str, Any]


async def check(storm: Storm, client: Client) -> None:
    """Compares Bough's rows with what was acknowledged and with the agents' own records."""
    by_session: dict[str, list[Sent]] = defaultdict(list)
    for sent in storm.sent:
        by_session[sent.session_id].append(sent)
    for session_id, prompts in by_session.items():
        session = await client.get(f"/api/sessions/{session_id}")
        tasks = (await client.get(f"/api/sessions/{session_id}/tasks?limit=500"))["tasks"]
        assert [task["id"] for task in tasks] == [sent.task_id for sent in prompts], "a prompt was lost or doubled"
        record = read_record(storm.folder / "data" / "demo", session["cwd"])
        check_order(session["messages"], tasks)
        for sent, task in zip(prompts, tasks, strict=True):
            check_task(sent, task, session["messages"], record)
    left = await client.get("/api/approvals?status=pending&limit=500")
    assert left["approvals"] == [], "an approval is orphaned"


def check_order(messages: list[Json], tasks: list[Json]) -> None:
    """The transcript goes task by task, each beginning with its prompt."""
    order = [message["taskId"] for message in messages if message["taskId"]]
    seen = list(dict.fromkeys(order))
    assert seen == [task["id"] for task in tasks]
    assert order == [task_id for task_id in seen for _ in range(order.count(task_id))], "turns are mixed up"


def check_task(sent: Sent, task: Json, messages: list[Json], record: list[Json]) -> None:
    assert task["status"] == "completed", f"{task['id']} is {task['status']}: {task['error']}"
    mine = [turn for turn in record if concerns(turn, sent.text)]
    originals = [turn for turn in mine if turn["text"] == sent.text]
    assert len(originals) <= 1, f"{sent.text!r} was sent {len(originals)} times to living agents"
    assert len(mine) <= task["attempt"], f"{sent.text!r} was sent {len(mine)} times in {task['attempt']} attempts"
    # An answer that a keeper was killed over before it wrote it down is lost with it: then the transcript says that the
    # turn was cut off, and a further attempt was made.
    answered = [turn["end"] for turn in mine].count("end_turn")
    cut_off = [one for one in messages if one["taskId"] == task["id"] and one["content"]["type"] == "error"]
    assert mine[-1]["end"] == "end_turn" and answered <= 1 + len(cut_off), f"{sent.text!r} was not answered once"
    said = [
        message["content"]["text"]
        for message in messages
        if message["taskId"] == task["id"] and message["role"] == "agent" and message["content"]["type"] == "text"
    ]
    answer = mine[-1]["said"]
    assert said[len(said) - len(answer) :] == answer, f"{sent.text!r}: {said[-2:]} is not {answer[-2:]}"
    if task["attempt"] == 1:
        assert said == answer == sent.expected
    for text in said[: len(said) - len(answer)]:
        assert any(text == whole[: len(text)] for whole in sent.expected) or text.startswith("You said"), text


def concerns(turn: Json, prompt: str) -> bool:
    """Whether a turn of the agent was about this prompt: the prompt itself, or a continuation that quotes it."""
    return turn["text"] == prompt or turn["quoted"] == replay.quoted(prompt)


def read_record(home: Path, cwd: str) -> list[Json]:
    """The turns that the agent itself wrote down, of all its conversations in this folder."""
    turns: list[Json] = []
    for path in sorted(home.glob("*.jsonl"), key=lambda one: one.stat().st_mtime):
        records = [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]
        if records and records[0]["cwd"] == cwd:
            turns += read_turns(records)
    return turns


def read_turns(records: list[Json]) -> list[Json]:
    turns: list[Json] = []
    for record in records:
        if record["type"] == "prompt":
            blocks = [block.get("text", "") for block in record["content"]]
            turns.append({"text": blocks[-1], "quoted": blocks[-2] if len(blocks) > 1 else "", "said": [], "end": None})
        elif record["type"] == "update" and record["update"]["sessionUpdate"] == "agent_message_chunk":
            turns[-1]["said"].append(record["update"]["content"]["text"])
        elif record["type"] == "end":
            turns[-1]["end"] = record.get("stopReason") or "error"
    return turns
