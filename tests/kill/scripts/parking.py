"""Lets turns of one account meet its usage limit during a kill run, and checks that each was parked and then resumed
once (Q6)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bough.model.session import MODES
from bough.model.task import TERMINAL
from bough.model.values.times import parse
from tests.kill.records import read_turns
from tests.kill.scripts.script import CheckedScript, Json
from tests.support.client import Client
from tests.support.eventually import eventually

SESSIONS = 2
PROMPTS = 2
# An account of its own, so that nobody else waits for its limit.
AGENT = "limited"
LIMIT = "You have hit your usage limit. Try again in 1s."
# Within this, a turn has been parked, resumed and, perhaps, interrupted again and again.
SETTLE = 240.0
# A server whose clock was ahead has parked a turn until then: a person has it tried.
TOO_LATE = timedelta(seconds=20)


class Parking(CheckedScript):
    """Two sessions of one account. Each prompt meets the limit, and its continuation does not."""

    name = "parking"

    async def play(self) -> None:
        repo_id = await self.repo()
        self._session_ids = [await self.session(repo_id, AGENT) for _ in range(SESSIONS)]
        self._sent: dict[str, str] = {}
        for number in range(PROMPTS):
            for session_id in self._session_ids:
                text = f"[[say begun {len(self._sent)}]] [[fail {LIMIT}]]"
                self._sent[await self.prompt(session_id, text)] = text
            await self._settle(number + 1)

    async def _settle(self, most: int) -> None:
        """Waits until all turns have ended, and has those tried that a wrong clock parked for long."""
        open_tasks: list[str] = []

        async def look() -> bool:
            tasks = [await self.task(task_id) for task_id in self._sent]
            for task in tasks:
                if _is_late(task):
                    await self.call("POST", f"/api/sessions/{task['sessionId']}/resume", {}, None, may_refuse=True)
            open_tasks[:] = [f"{task['id']} {task['status']}" for task in tasks if task["status"] not in TERMINAL]
            return not open_tasks

        await eventually(look, lambda: f"{most} limits are over; open: {open_tasks}", within=SETTLE, pause=0.2)

    async def check(self, client: Client) -> None:
        for session_id in self._session_ids:
            session = await client.get(f"/api/sessions/{session_id}")
            tasks = (await client.get(f"/api/sessions/{session_id}/tasks?limit=500"))["tasks"]
            record = read_turns(self.data / "demo", session["cwd"])
            assert [task["prompt"] for task in tasks] == [self._sent[task["id"]] for task in tasks]
            for task in tasks:
                about = [message for message in session["messages"] if message["taskId"] == task["id"]]
                parked = [row for row in about if row["content"].get("stopReason") == "limit"]
                broken = [row for row in about if row["content"]["type"] == "error"]
                sent = [turn for turn in record if turn.concerns(task["prompt"], task["source"])]
                originals = [turn for turn in sent if turn.carries(task["prompt"], task["source"])]
                assert (task["status"], task["parked"]) == ("completed", None), task
                assert len(originals) <= 1, f"{task['prompt']} was sent again after its limit"
                assert len(parked) <= 1 and len(parked) + len(broken) >= 1, f"{task['id']} met {len(parked)} limits"
                # Resumed once, unless something beside the limit ended an attempt. One that was killed before
                # its prompt was sent leaves no trace.
                assert broken or len(sent) == 2, task
                assert len(sent) <= task["attempt"] and sent[-1].end == "end_turn"
        tasks = [await client.get(f"/api/tasks/{task_id}") for task_id in self._sent]
        assert len(tasks) == SESSIONS * PROMPTS


def _is_late(task: Json) -> bool:
    parked: Json | None = task["parked"]
    if parked is None or parked["resumesAt"] is None:
        return False
    return parse(parked["resumesAt"]) > datetime.now(UTC) + TOO_LATE


def add_limited_agent(data: Path) -> None:
    """Adds the demo agent once more to the catalog, with an account whose limits count for nobody else."""
    command = json.dumps(["{python}", "-m", "bough.agents.demo"])
    lines = [f'title = "{AGENT}"', f"command = {command}", "resume = true"]
    lines += ['env = { BOUGH_DEMO_HOME = "{data}/demo" }', 'quirks = { usage = "session" }']
    lines += ["[limits]", "words = ['usage limit']", "usage = ['usage limit']"]
    lines += ["resets = ['again in (?P<duration>[0-9]+s)']"]
    lines += ["[modes]", *(f'{mode} = "{mode}"' for mode in MODES)]
    (data / "agents").mkdir(parents=True, exist_ok=True)
    (data / "agents" / f"{AGENT}.toml").write_text("\n".join(lines) + "\n", "utf-8")
