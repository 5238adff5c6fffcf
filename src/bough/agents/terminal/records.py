"""Owns the shape of the lines in a session's file; the package's docstring says what each means.
It leaves reading, writing and what follows from them to the store.
"""

from __future__ import annotations

import msgspec

from bough.agents.acp_server.rpc import Json


class _Record(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    # No default: defaults are left out, and every line has to carry its time.
    at: str


class SessionRecord(_Record, tag="session"):
    id: str
    cwd: str
    forked_from: str | None = None


class SettingRecord(_Record, tag="setting"):
    cwd: str | None = None
    mode: str | None = None


class PromptRecord(_Record, tag="prompt"):
    turn: int
    message_id: str
    content: list[Json]


class UpdateRecord(_Record, tag="update"):
    update: Json


class PermissionRecord(_Record, tag="permission"):
    command: str
    cwd: str
    answer: str


class ShellRecord(_Record, tag="shell"):
    cwd: str
    set: dict[str, str] = {}
    unset: list[str] = []


class EndRecord(_Record, tag="end"):
    turn: int
    stop_reason: str | None = None
    error: str | None = None


Record = SessionRecord | SettingRecord | PromptRecord | UpdateRecord | PermissionRecord | ShellRecord | EndRecord

decode_record = msgspec.json.Decoder(Record).decode
