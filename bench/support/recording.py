"""Generates what an agent sends in a long turn from a fixed seed: 20,000 updates, the same bytes every time, so that
the repository need not store a megabyte of made-up text."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import msgspec

from tests.support.misbehaving_agents.protocol import SESSION

SEED = 20_000
UPDATES = 20_000
# Message chunks and thought chunks per thousand updates; the rest are tool calls, with three updates each.
TEXT, THOUGHT = 960, 28
TALK = (
    "the test fails because a session holds its lock so I read the file again and change the order of both writes "
    "def return async with self._store.read(work) { \"key\": 'value' }, C:\\path\\to\\file\n\n``` <tag/> &amp; \t"
)
WORDS = TALK.split(" ")
# Words per word that is not ASCII, so that about a quarter of the chunks contain one, whole or cut.
RARE = ["naïve", "façade", "straße", "会话", "дерево", "🌳", "🍂", "…", "—", "«done»"]
RARE_EVERY = 20


class Recording(msgspec.Struct):
    """The lines of one turn, and the text that every listener must end with."""

    lines: bytes
    updates: int
    texts: list[str]

    @property
    def digest(self) -> str:
        return digest(self.texts)

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))

    def save(self, path: Path) -> Path:
        path.write_bytes(self.lines)
        return path


def digest(texts: list[str]) -> str:
    """A checksum of messages in order, byte for byte."""
    return hashlib.sha256(msgspec.json.encode(texts)).hexdigest()


def make(updates: int = UPDATES) -> Recording:
    """Generates text in runs as agents do: a thought, then some paragraphs, then a tool call."""
    chance = random.Random(SEED)
    sent: list[dict[str, Any]] = []
    texts: list[str] = []
    per_call = 3 * 1000 / (1000 - TEXT - THOUGHT)
    calls = 0
    while len(sent) < updates:
        rest = updates - len(sent)
        _speak(chance, sent, texts, "agent_thought_chunk", min(rest, round(per_call * THOUGHT / 1000)))
        rest = updates - len(sent)
        _speak(chance, sent, texts, "agent_message_chunk", min(rest, round(per_call * TEXT / 1000)))
        calls += 1
        sent += _tool_call(chance, calls)[: updates - len(sent)]
    lines = b"".join(_line(update) for update in sent)
    return Recording(lines, len(sent), texts)


def _speak(chance: random.Random, sent: list[dict[str, Any]], texts: list[str], kind: str, count: int) -> None:
    chunks = [_chunk(chance) for _ in range(count)]
    if chunks:
        texts.append("".join(chunks))
    sent += ({"sessionUpdate": kind, "content": {"type": "text", "text": text}} for text in chunks)


def _chunk(chance: random.Random) -> str:
    length = chance.randint(5, 60)
    text = ""
    while len(text) < length:
        text += chance.choice(RARE if chance.random() * RARE_EVERY < 1 else WORDS) + " "
    return text[:length]


def _tool_call(chance: random.Random, number: int) -> list[dict[str, Any]]:
    call = f"call_{number}"
    output = "\n".join(_chunk(chance) for _ in range(chance.randint(1, 30)))
    begun = {"toolCallId": call, "title": f"Read src/part_{number}.py", "kind": "read", "status": "pending"}
    return [
        {"sessionUpdate": "tool_call", **begun, "rawInput": {"path": f"src/part_{number}.py"}},
        {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": output}}],
        },
    ]


def _line(update: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": SESSION, "update": update}}
    return msgspec.json.encode(message) + b"\n"
