"""Defines a message of a transcript (R4). Contents are JSON objects distinguished by `type`; this module builds the
ones that Bough itself writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from bough.model.file import FileInfo

Role = Literal["user", "agent", "system"]

# Queued prompts sort after the whole conversation and get their real position when their turn starts.
QUEUED_BASE = 1 << 40


class Message(msgspec.Struct, rename="camel"):
    """A row of `messages`; `position` orders the session's transcript."""

    id: str
    session_id: str
    task_id: str | None
    position: int
    role: Role
    content: msgspec.Raw
    created_at: str
    updated_at: str
    # The same as `created_at`, under the name that some clients expect (R4b).
    timestamp: str = ""

    def __post_init__(self) -> None:
        self.timestamp = self.created_at


def raw(value: Any) -> msgspec.Raw:
    """Encodes a value as the JSON that is stored and sent."""
    return msgspec.Raw(msgspec.json.encode(value))


def user_text(text: str, files: Sequence[FileInfo] = (), user: str | None = None) -> msgspec.Raw:
    """Builds the content of a prompt with the names of its files, and that of its author if it is a named user."""
    content: dict[str, Any] = {"type": "text", "text": text}
    if user is not None:
        content["user"] = user
    if files:
        content["files"] = file_infos(files)
    return raw(content)


def file_infos(files: Sequence[FileInfo]) -> list[FileInfo]:
    """Returns the files as a message lists them, without their data."""
    return [FileInfo(file.id, file.name, file.mime_type, file.size) for file in files]


def files_of(content: dict[str, Any]) -> list[FileInfo]:
    """Returns the files that a message lists."""
    return msgspec.convert(content.get("files", []), list[FileInfo])


def error(code: str, text: str, **details: Any) -> msgspec.Raw:
    return raw({"type": "error", "code": code, "text": text, **details})


def notice(text: str, undo_checkpoint_id: str | None = None, stop_reason: str | None = None) -> msgspec.Raw:
    """Builds a notice; `undo_checkpoint_id` is the checkpoint that undoes what it tells about, `stop_reason` the reason
    of a turn that ended early."""
    content = {"type": "notice", "text": text}
    if stop_reason is not None:
        content["stopReason"] = stop_reason
    if undo_checkpoint_id is not None:
        content["undoCheckpointId"] = undo_checkpoint_id
    return raw(content)


def cancelled(text: str, reason: str) -> msgspec.Raw:
    return raw({"type": "cancelled", "text": text, "reason": reason})
