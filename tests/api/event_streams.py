"""Reads event streams in tests: over SSE, and as a client that builds transcripts from events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable

import httpx

from tests.api.error_responses import Json
from tests.support.client import PATIENCE, Client


class Sse:
    """An open stream of server-sent events; each event as (id, event, data)."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self.last_id: str | None = None
        self._lines = answer.aiter_lines()

    async def next(self) -> tuple[str | None, str, Json]:
        pairs: list[tuple[str, str]] = []
        async for line in self._lines:
            if line.startswith(":"):
                continue
            if not line and pairs:
                break
            name, _, value = line.partition(": ")
            if name:
                pairs.append((name, value))
        fields = dict(pairs)
        assert len(fields) == len(pairs), f"a field twice in one event: {pairs}"
        assert fields.keys() <= {"id", "event", "data"}
        self.last_id = fields.get("id", self.last_id)
        return fields.get("id"), fields["event"], json.loads(fields["data"])

    async def until(self, matches: Callable[[Json], bool]) -> list[Json]:
        """Everything up to the first event that matches, that one included."""
        seen: list[Json] = []
        async with asyncio.timeout(PATIENCE):
            while not seen or not matches(seen[-1]):
                seen.append((await self.next())[2])
        return seen


@contextlib.asynccontextmanager
async def sse(client: Client, query: str = "", last_event_id: str | None = None) -> AsyncGenerator[Sse]:
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    async with client.http.stream("GET", f"/api/events{query}", headers=headers) as answer:
        yield Sse(answer)


class Transcript:
    """Texts of messages as a client puts them together from what it is sent."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.deltas = 0
        self.snapshots = 0

    def take(self, event: Json) -> None:
        kind = event["type"]
        if kind in ("message.created", "message.patched"):
            content = event["data"]["content"]
            if content["type"] in ("text", "thought"):
                self._hold(event["objectId"], content["text"], final=not content.get("partial", False))
        elif kind == "message.snapshot":
            if event["offset"] != 0:
                raise AssertionError("a snapshot does not begin at the start")
            self.snapshots += 1
            self._hold(event["messageId"], event["text"], final=False)
        elif kind == "message.delta" and event["messageId"] in self.texts:
            self.deltas += 1
            known = self.texts[event["messageId"]]
            if event["offset"] > len(known):
                raise AssertionError("a delta leaves a hole")
            new = event["text"][len(known) - event["offset"] :]
            self.texts[event["messageId"]] = known + new

    def _hold(self, message_id: str, text: str, *, final: bool) -> None:
        known = self.texts.get(message_id, "")
        is_older = not final and len(text) <= len(known)
        shorter, longer = (text, known) if is_older else (known, text)
        # A partial row may have been stored before deltas that have arrived; any other text continues what is known.
        assert longer.startswith(shorter) or not (final or is_older), "what was streamed is not what was said"
        self.texts[message_id] = longer
