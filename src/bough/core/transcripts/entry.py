"""Holds one message of a turn while it grows, without the session's secret values."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

from bough.core.transcripts.shorten import shortened
from bough.model.ids import new_id
from bough.model.message import Role, raw
from bough.model.redaction import NOTHING_SECRET, Redactor

Kind = Literal["text", "thought", "tool", "plan", "other"]

SPOKEN_KINDS = ("text", "thought")
# Tuples, because agents may send unhashable values in their place.
OPEN_TOOL = ("pending", "in_progress")
ENDED_TOOL = ("completed", "failed")


class Entry:
    """A message that is still growing."""

    __slots__ = (
        "announce",
        "body",
        "closed",
        "id",
        "kind",
        "length",
        "message_id",
        "parts",
        "redactor",
        "role",
        "seen",
        "size",
        "stored",
        "stream",
        "withheld",
    )

    def __init__(
        self,
        kind: Kind,
        role: Role,
        message_id: str | None = None,
        id: str | None = None,
        redactor: Redactor = NOTHING_SECRET,
        withheld: str = "",
    ) -> None:
        """Takes what masks the session's secret values, and the end of the text that an earlier server withheld."""
        self.id = id or new_id()
        self.kind: Kind = kind
        self.role: Role = role
        self.message_id = message_id
        self.parts: list[str] = []
        self.body: dict[str, Any] = {}
        self.closed = False
        # The bytes of its row.
        self.size = 0
        # Whether its row exists, and whether its next write needs an event of its own.
        self.stored = False
        self.announce = True
        # How many parts, and how many characters, subscribers have received.
        self.seen = 0
        self.length = 0
        self.redactor = redactor
        # Masks a text as it grows; None if there is nothing to mask or the message is not a text.
        self.stream = redactor.stream(withheld) if redactor and kind in SPOKEN_KINDS else None
        # The end of a command's output that is not stored, because it may become a secret value.
        self.withheld = "" if kind in SPOKEN_KINDS else withheld

    def append(self, text: str) -> None:
        """Adds text without secret values. An end that may become one is added later."""
        self.parts.append(text if self.stream is None else self.stream.feed(text))

    def close(self) -> None:
        """Marks a text as complete."""
        self.closed = True
        if self.stream is not None and self.stream.withheld:
            self.parts.append(self.stream.close())

    @property
    def unshown(self) -> str:
        """What is neither stored nor shown yet, because it may become a secret value."""
        return self.withheld if self.stream is None else self.stream.withheld

    def text(self) -> str:
        return "".join(self.parts)

    def unseen(self) -> str:
        """Returns the text that subscribers have not received yet and marks it as sent."""
        text = "".join(self.parts[self.seen :])
        self.seen = len(self.parts)
        self.length += len(text)
        return text

    def content(self, short: bool = False) -> msgspec.Raw:
        """Returns the content to store, with `short` output of a tool call. Joins text parts for good, so that a long
        message is not joined again and again."""
        if self.kind in SPOKEN_KINDS:
            self.unseen()
            text = self.text()
            self.parts = [text]
            self.seen = 1
            body: dict[str, Any] = {"type": self.kind, "text": text, "partial": not self.closed}
            if not self.closed and self.message_id is not None:
                # After a restart, this tells which chunks belong to the message.
                body["messageId"] = self.message_id
            return raw(body)
        body = self._shown_body() if self.redactor else self.body
        return raw(shortened(body) if short and self.kind == "tool" else body)

    def _shown_body(self) -> dict[str, Any]:
        """Returns the body without secret values. Of the output of a call that still runs, it leaves out an end that
        may become one."""
        self.withheld = ""
        body, result = self.body, self.body.get("result")
        if self.kind == "tool" and isinstance(result, dict):
            result = cast("dict[str, Any]", result)
            if result.get("status") in OPEN_TOOL:
                shown: dict[str, Any] = self.redactor.finished(result)
                body = {**body, "result": shown}
                if isinstance(output := result.get("output"), str):
                    # Output that comes in pieces. Other texts are sent whole again when they have grown.
                    self.withheld = output[len(shown["output"]) :]
        return self.redactor.value(body)
