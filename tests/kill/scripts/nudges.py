"""Lets turns loop during a kill run, and checks that each was told so at most once (T7)."""

from __future__ import annotations

import json
from collections import Counter

from bough.core.turns.stuck_turns import LOOPING_NUDGE
from bough.model.task import TERMINAL
from tests.kill.scripts.script import CheckedScript, Json
from tests.support.client import Client

PROMPTS = 2
LOOP_AFTER = 4
# Only loops are noticed: an agent is never silent for so long, even if its keeper or disk is. Turns are looked at every
# 2.4 s.
STALL_AFTER = 0.4
FLAGS = ("--nudge-stuck", "--loop-after", str(LOOP_AFTER), "--stall-after", str(STALL_AFTER))
NUDGE = LOOPING_NUDGE.format(times=LOOP_AFTER)


class Nudges(CheckedScript):
    """A session that repeats one command in each of its turns, and then talks for a while."""

    name = "nudges"

    async def play(self) -> None:
        self._session_id = await self.session(await self.repo())
        self._sent = [
            await self.prompt(self._session_id, f"{'[[run true]]' * LOOP_AFTER} [[slow 50 5]] [[say end {number}]]")
            for number in range(PROMPTS)
        ]

    async def check(self, client: Client) -> None:
        tasks: list[Json] = (await client.get(f"/api/sessions/{self._session_id}/tasks?limit=500"))["tasks"]
        nudges = [task for task in tasks if task["nudge"]]
        assert [task["id"] for task in tasks if not task["nudge"]] == self._sent, "a prompt was lost or doubled"
        assert [task for task in tasks if task["status"] not in TERMINAL] == []
        assert {task["prompt"] for task in nudges} <= {NUDGE}
        by_turn = Counter(task["steersTaskId"] for task in nudges)
        assert len(nudges) <= PROMPTS and max(by_turn.values(), default=0) <= 1, f"a turn was nudged twice: {by_turn}"
        session = await client.get(f"/api/sessions/{self._session_id}")
        read = [text for text in self._texts_read(session["cwd"]) if text == NUDGE]
        assert len(read) <= len(nudges), "an agent was nudged more often than it is written"
        print(f"nudges: {len(nudges)} stored, {len(read)} read")

    def _texts_read(self, cwd: str) -> list[str]:
        """Returns the last texts of all prompts that agents in this folder have read."""
        texts: list[str] = []
        for path in (self.data / "demo").glob("*.jsonl"):
            records: list[Json] = [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]
            if records and records[0]["cwd"] == cwd:
                read = [record["content"] for record in records if record["type"] in ("prompt", "steer")]
                texts += [blocks[-1].get("text", "") for blocks in read]
        return texts
