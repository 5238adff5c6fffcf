"""Turns steps into pieces, and pieces into server-sent events or, for requests that do not stream, one body."""

from __future__ import annotations

import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.support.scripted_model.conversation import Conversation, Tool
from tests.support.scripted_model.planning import Step

Event = tuple[str | None, Any]
"""A name, where the service names its events, and data: JSON, or text as it is."""

WORDS_PER_CHUNK = 3


class Writer(ABC):
    """Writes one response and counts its tokens."""

    def __init__(self, conversation: Conversation, size: int) -> None:
        """`size` is the length of the request: about four characters are a token."""
        self.model = conversation.model
        self.tokens_in = max(1, size // 4)
        self.chars_out = 0
        self.called = False
        # Why the response ends early: `max_tokens` or `refusal`; empty if it does not.
        self.ends = ""

    @property
    def tokens_out(self) -> int:
        return max(1, self.chars_out // 4)

    def step(self, step: Step) -> Iterator[Event]:
        """Yields the events of a step; a pause has none."""
        if step.kind == "say":
            for piece in _chunks(step.text):
                self.chars_out += len(piece)
                yield from self.text(piece)
        elif step.kind == "think":
            for piece in _chunks(step.text):
                self.chars_out += len(piece)
                yield from self.think(piece)
        elif step.kind == "end":
            self.ends = step.text
        elif step.tool is not None:
            self.called = True
            self.chars_out += len(encoded(step.arguments))
            yield from self.call(step.tool, step.arguments)

    def begin(self) -> Iterator[Event]:
        yield from ()

    @abstractmethod
    def text(self, piece: str) -> Iterator[Event]: ...

    @abstractmethod
    def think(self, piece: str) -> Iterator[Event]: ...

    @abstractmethod
    def call(self, tool: Tool, arguments: Any) -> Iterator[Event]: ...

    @abstractmethod
    def end(self) -> Iterator[Event]: ...

    @abstractmethod
    def body(self) -> Any:
        """Returns the whole response, after `end`."""


def frame(event: Event) -> bytes:
    """Returns an event as it is sent."""
    name, data = event
    payload = data.encode() if isinstance(data, str) else msgspec.json.encode(data)
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + payload + b"\n\n"


def encoded(arguments: Any) -> str:
    """Returns the arguments of a call as text; free-form ones are text already."""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def new_id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]


def _chunks(text: str) -> Iterator[str]:
    words: list[str] = re.findall(r"\s*\S+\s*", text) or [text]
    for at in range(0, len(words), WORDS_PER_CHUNK):
        yield "".join(words[at : at + WORDS_PER_CHUNK])
