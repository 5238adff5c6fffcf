"""Reads what the demo agents recorded themselves: the turns of all their conversations in a folder, each once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bough.core.state.reports.callbacks import GO_ON
from bough.core.transcripts import replay
from bough.core.turns.continuation_prompt import AFTER_LIMIT, CONTINUE, quoted

Json = dict[str, Any]


@dataclass
class Turn:
    """One prompt as an agent received it, with the agent's answer."""

    blocks: list[str]
    at: str
    said: list[str] = field(default_factory=list[str])
    end: str | None = None

    def carries(self, prompt: str, source: str) -> bool:
        """Tells whether this is the prompt itself, as it is sent for the first time."""
        if source == "callback":
            return self.blocks[-2:] == [prompt, GO_ON]
        return self.blocks[-1] == prompt

    def concerns(self, prompt: str, source: str) -> bool:
        """Tells whether this is the prompt itself or a continuation that quotes it."""
        continued = self.blocks[-2:-1] == [quoted(prompt)] and self.blocks[-1] in (CONTINUE, AFTER_LIMIT)
        return continued or self.carries(prompt, source)

    @property
    def past(self) -> str:
        """Returns the quoted transcript that came with the prompt."""
        return "\n".join(block for block in self.blocks if block.startswith(replay.HEADING))

    def aside(self, question: str) -> int:
        """Counts how often this prompt mentions a side question."""
        blocks = [
            block
            for block in self.blocks
            if block.startswith("While you worked, somebody asked") and f"\n> {question}\n" in block
        ]
        return len(blocks) + self.past.count(f"[side question]\n    {question}\n")


def read_turns(home: Path, cwd: str) -> list[Turn]:
    """Returns the turns in this folder in order of time, without those that a forked conversation copied."""
    files: dict[str, list[Json]] = {}
    for path in home.glob("*.jsonl"):
        records = [json.loads(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]
        if records and records[0]["cwd"] == cwd:
            files[records[0]["id"]] = records
    turns: list[Turn] = []
    for records in files.values():
        copied = {item.get("messageId") for item in files.get(records[0].get("forkedFrom", ""), [])} - {None}
        own = [
            place
            for place, entry in enumerate(records)
            if entry["type"] == "prompt" and entry["messageId"] not in copied
        ]
        if own:
            turns += _turns(records[own[0] :])
    return sorted(turns, key=lambda turn: turn.at)


def _turns(records: list[Json]) -> list[Turn]:
    turns: list[Turn] = []
    for record in records:
        if record["type"] == "prompt":
            turns.append(Turn([block.get("text", "") for block in record["content"]], record["at"]))
        elif record["type"] == "update" and record["update"]["sessionUpdate"] == "agent_message_chunk":
            turns[-1].said.append(record["update"]["content"]["text"])
        elif record["type"] == "end":
            turns[-1].end = record.get("stopReason") or "error"
    return turns
