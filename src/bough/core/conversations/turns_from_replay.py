"""Divides a conversation that an agent replays into turns, and folds each into messages like those of a live turn."""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import msgspec

from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog.entry import CatalogEntry
from bough.core.conversations.line_fields import Tokens
from bough.core.live_agents.failures import FailureDetector
from bough.core.transcripts.fold import STATE, Fold
from bough.model.message import Role
from bough.model.values.redaction import Redactor

NO_TEXT = "[no text]"
MOST_TURNS = 5000
"""Turns of a conversation that are kept, the newest."""
LONGEST_PROMPT = 1024 * 1024
"""Characters of a prompt that are kept."""


class ReplayedTurn:
    """A prompt, and what the agent did about it."""

    def __init__(self, message_id: str | None = None) -> None:
        self.message_id = message_id
        self.parts: list[str] = []
        self.updates: list[SessionUpdate] = []
        self.size = 0

    @property
    def prompt(self) -> str:
        """The prompt's text; files and images that came with it are only named."""
        return "\n".join(self.parts).replace("\0", "")[:LONGEST_PROMPT] or NO_TEXT


class FoldedTurn(msgspec.Struct):
    """A turn as it is stored, without secret values."""

    prompt: str
    messages: list[tuple[Role, msgspec.Raw]]
    tool_count: int
    usage: Tokens = {}

    @property
    def size(self) -> int:
        return len(self.prompt) + sum(len(bytes(content)) for _, content in self.messages)


class TurnCollector:
    """Collects the turns of one conversation as its agent sends them. Beyond the limit, the oldest are left out."""

    def __init__(self, session_id: str, limit: int) -> None:
        self._session_id = session_id
        self._limit = limit
        self._size = 0
        self.turns: deque[ReplayedTurn] = deque()
        # Turns that are left out, and whether a single turn was cut off.
        self.left_out = 0
        self.is_cut = False
        self.state: dict[str, dict[str, Any]] = {}

    def add(self, update: SessionUpdate) -> None:
        """Takes the next update. Those of other conversations, such as a subagent's, are not part of this one."""
        if update.session_id != self._session_id:
            return
        if update.kind in STATE:
            self.state[update.kind] = msgspec.json.decode(update.raw)
            return
        is_prompt = update.kind == "user_message_chunk"
        if not self.turns or (is_prompt and self._begins_turn(update)):
            self.turns.append(ReplayedTurn(update.message_id))
        turn = self.turns[-1]
        size = len(update.line)
        if turn.size + size > self._limit:
            self.is_cut = True
            return
        if is_prompt:
            turn.parts.append(update.text if update.text is not None else _named(update))
        else:
            turn.updates.append(update)
        turn.size += size
        self._size += size
        while len(self.turns) > 1 and (self._size > self._limit or len(self.turns) > MOST_TURNS):
            self._size -= self.turns.popleft().size
            self.left_out += 1

    def _begins_turn(self, update: SessionUpdate) -> bool:
        turn = self.turns[-1]
        return bool(turn.updates) or update.message_id != turn.message_id


def _named(update: SessionUpdate) -> str:
    """Returns the placeholder for a part of a prompt that is not text."""
    content: Any = msgspec.json.decode(update.raw).get("content")
    kind: Any = cast("dict[str, Any]", content).get("type") if isinstance(content, dict) else None
    return f"[{kind}]" if isinstance(kind, str) and len(kind) < 40 else "[file]"


def fold_turn(entry: CatalogEntry, turn: ReplayedTurn, redactor: Redactor) -> FoldedTurn:
    """Folds a turn into messages without secret values."""
    failures = FailureDetector(entry)
    fold = Fold(entry.tools, redactor)
    fold.add([update for update in turn.updates if not failures.is_noise(update)])
    fold.close()
    messages: list[tuple[Role, msgspec.Raw]] = [(message.role, message.content()) for message in fold.dirty]
    return FoldedTurn(redactor.text(turn.prompt), messages, fold.tool_count)
