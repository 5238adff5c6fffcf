"""Records the requests: what came, how it was answered, and whether the agent stayed for the whole answer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from tests.support.scripted_model.conversation import Conversation, Json, short

# How much of the last prompt an entry quotes.
QUOTED = 120


class Entry(msgspec.Struct, kw_only=True):
    """One request; `api` and what follows are set only for a conversation."""

    n: int
    t: float
    method: str
    path: str
    agent: str
    note: str = ""
    api: str = ""
    model: str = ""
    stream: bool = False
    user_turns: int = 0
    last_user: str = ""
    tools: int = 0
    does: list[str] = []
    done: bool = False
    aborted: bool = False
    """The agent hung up before the end: this is how a cancelled turn shows."""


class Last(msgspec.Struct, kw_only=True):
    """The last conversation request, complete."""

    path: str = ""
    headers: dict[str, str] = {}
    body: Any = None


class Book:
    """All requests since the start or the last reset; optionally also in files."""

    def __init__(self, log: Path | None = None, dump: Path | None = None) -> None:
        """`log` gets a line for each request; the folder `dump` gets a file with each body."""
        self.entries: list[Entry] = []
        self.last = Last()
        self._log = log
        self._dump = dump

    def reset(self) -> None:
        self.entries.clear()
        self.last = Last()

    def note(self, method: str, path: str, headers: dict[str, str], note: str) -> Entry:
        """Records a request that is not a conversation."""
        return self._add(self._entry(method, path, headers, note))

    def conversation(
        self, method: str, path: str, headers: dict[str, str], body: Json, conversation: Conversation, does: list[str]
    ) -> Entry:
        turns = conversation.user_turns
        entry = self._entry(method, path, headers)
        entry.api, entry.model, entry.stream = conversation.api, conversation.model, conversation.stream
        entry.user_turns, entry.tools, entry.does = len(turns), len(conversation.tools), does
        entry.last_user = short(turns[-1].text, QUOTED) if turns else ""
        # A request for a title or a route runs beside the conversation, and may come after it.
        if conversation.tools or conversation.schema is None:
            self.last = Last(path=path, headers=headers, body=body)
        if self._dump is not None:
            self._dump.mkdir(parents=True, exist_ok=True)
            whole = {"entry": entry, "headers": headers, "body": body}
            (self._dump / f"{entry.n:04}.json").write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1))
        return self._add(entry)

    def _entry(self, method: str, path: str, headers: dict[str, str], note: str = "") -> Entry:
        agent = headers.get("user-agent", "")
        return Entry(n=len(self.entries), t=round(time.time(), 3), method=method, path=path, agent=agent, note=note)

    def _add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        if self._log is not None:
            with self._log.open("ab") as file:
                file.write(msgspec.json.encode(entry) + b"\n")
        return entry
