"""Holds one message of a turn while it grows, without the session's secret values."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bough.core.transcripts.shorten import shortened
from bough.model.message import Role, raw
from bough.model.values.ids import new_id
from bough.model.values.redaction import NOTHING_SECRET, Redactor

Kind = Literal["text", "thought", "tool", "plan", "other"]

SPOKEN_KINDS = ("text", "thought")
# Tuples, because agents may send unhashable values in their place.
OPEN_TOOL = ("pending", "in_progress")
ENDED_TOOL = ("completed", "failed")
# How much of a command's output is kept, from its end.
LONGEST_OUTPUT = 1024 * 1024


class GrowingMessage:
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
        "printed",
        "redactor",
        "role",
        "seen",
        "size",
        "spoken",
        "stored",
        "stream",
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
        # How many characters the agent has said.
        self.spoken = 0
        self.redactor = redactor
        # Masks a text, or a tool call's output, as it grows.
        self.stream = redactor.stream(withheld)
        # Whether the output of a tool call is a text. It then holds no secret value.
        self.printed = False

    def learn(self, redactor: Redactor) -> None:
        """Masks by another redactor from now on. Text that was withheld stays so until it is read by that one."""
        self.redactor = redactor
        self.stream = redactor.stream(self.unshown)

    def append(self, text: str) -> None:
        """Adds text without secret values. An end that may become one is added later."""
        self.spoken += len(text)
        self.parts.append(self._masked(text))

    def close(self) -> None:
        """Marks a message as complete."""
        self.closed = True
        if self.kind in SPOKEN_KINDS and self.unshown:
            self.parts.append(self._rest())
        elif self.kind == "tool":
            self.end_output()

    def set_output(self, output: Any) -> None:
        """Replaces the output of a tool call."""
        self._rest()
        self.printed = isinstance(output, str)
        self.body["result"]["output"] = self._masked(output) if self.printed else output

    def add_output(self, text: str) -> None:
        """Adds to the output of a tool call, without secret values. An end that may become one is added later."""
        if not self.printed:
            self.set_output("")
        result = self.body["result"]
        result["output"] = (result["output"] + self._masked(text))[-LONGEST_OUTPUT:]

    def end_output(self) -> None:
        """Adds what was withheld of the output of a tool call, because nothing more will come."""
        if self.printed and self.unshown:
            self.body["result"]["output"] += self._rest()

    @property
    def unshown(self) -> str:
        """Text that is neither stored nor shown so far, because it may become a secret value."""
        return self.stream.withheld

    def _masked(self, text: str) -> str:
        return self.stream.feed(text)

    def _rest(self) -> str:
        return self.stream.close()

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
        body = self._shown_body()
        return raw(shortened(body) if short and self.kind == "tool" else body)

    def _shown_body(self) -> dict[str, Any]:
        """Returns the body without secret values. It leaves out the ends of texts of a running call that may become
        one."""
        if self.kind != "tool":
            return self.redactor.value(self.body)
        result: dict[str, Any] = self.body["result"]
        # Output that is a text is already masked. It may be long, and is not read again each time that it grows.
        output = {"output": result["output"]} if self.printed else {}
        rest = {name: value for name, value in result.items() if name not in output}
        if not self.closed and result.get("status") not in ENDED_TOOL:
            rest = self.redactor.finished(rest)
        shown: dict[str, Any] = self.redactor.value({**self.body, "result": rest})
        return {**shown, "result": {**shown["result"], **output}}


class MessageWrite(msgspec.Struct):
    """One message as it was when the transaction was prepared."""

    entry: GrowingMessage
    id: str
    role: Role
    content: msgspec.Raw
    is_new: bool
    announce: bool
