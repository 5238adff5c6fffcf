"""Checks the prompts that were sent into running turns, after a kill run: each reached its agent exactly once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bough.core.turns.continuation_prompt import CONTINUE, quoted
from tests.kill.kill_run import KillRun
from tests.support.client import Client

Json = dict[str, Any]


async def check_steering(run: KillRun, client: Client) -> None:
    """Q8: Compares what was acknowledged with Bough's rows, its transcript and the agents' own records."""
    assert run.ledger.steered
    session_id = run.ledger.steered[0].session_id
    session = await client.get(f"/api/sessions/{session_id}")
    tasks = {task["id"]: task for task in (await client.get(f"/api/sessions/{session_id}/tasks?limit=500"))["tasks"]}
    assert tasks.keys() == {sent.task_id for sent in run.ledger.steered}, "a prompt was lost or doubled"
    shown = [row["content"]["text"] for row in session["messages"] if row["role"] == "user"]
    prompts = _prompts(run.folder / "data" / "demo", session["cwd"])
    for sent in run.ledger.steered:
        task = tasks[sent.task_id]
        assert task["status"] == "completed", task
        assert shown.count(sent.text) == 1, f"{sent.text} is shown {shown.count(sent.text)} times"
        originals = sum(1 for blocks in prompts if blocks[-1] == sent.text)
        assert originals <= 1, f"{sent.text} was sent {originals} times to living agents"
        continued = [blocks for blocks in prompts if blocks[-1] == CONTINUE and quoted(sent.text) in blocks]
        assert originals or continued, f"{sent.text} reached no agent: {task}"


def _prompts(home: Path, cwd: str) -> list[list[str]]:
    """Returns the texts of all prompts that agents in this folder have read, at a turn's start or in its middle."""
    prompts: list[list[str]] = []
    for path in home.glob("*.jsonl"):
        records: list[Json] = [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]
        if records and records[0]["cwd"] == cwd:
            read = [record for record in records if record["type"] in ("prompt", "steer")]
            prompts += [[block.get("text", "") for block in record["content"]] for record in read]
    return prompts
