"""A message: one entry of a transcript (R4). Contents are JSON objects told apart by `type`; this module makes the
ones that Bough itself writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from bough.model.file import FileInfo

Role = Literal["user", "agent", "system"]

# Prompts that wait sort behind the whole conversation; they get their real position when their turn starts.
QUEUED_BASE = 1 << 40


class Message(msgspec.Struct, rename="camel"):
    """A row of `messages`; `position` orders the transcript of its session."""

    id: str
    session_id: str
    task_id: str | None
    position: int
    role: Role
    content: msgspec.Raw
    created_at: str
    updated_at: str


def raw(value: Any) -> msgspec.Raw:
    """Any value as the JSON that is stored and sent."""
    return msgspec.Raw(msgspec.json.encode(value))


def user_text(text: str, files: Sequence[FileInfo] = ()) -> msgspec.Raw:
    """A prompt, with the files that go with it by their names."""
    content: dict[str, Any] = {"type": "text", "text": text}
    if files:
        content["files"] = [FileInfo(one.id, one.name, one.mime_type, one.size) for one in files]
    return raw(content)


def files_of(content: dict[str, Any]) -> list[FileInfo]:
    """The files that a message names."""
    return msgspec.convert(content.get("files", []), list[FileInfo])


def error(code: str, text: str, **details: Any) -> msgspec.Raw:
    return raw({"type": "error", "code": code, "text": text, **details})


def notice(text: str) -> msgspec.Raw:
    return raw({"type": "notice", "text": text})


def cancelled(text: str, reason: str) -> msgspec.Raw:
    return raw({"type": "cancelled", "text": text, "reason": reason})
