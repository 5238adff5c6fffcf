"""Owns the shape of the lines in a session's file; the package's docstring says what each means.
It leaves reading, writing and what follows from them to the store.
"""

from typing import Any

import msgspec

Json = dict[str, Any]


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
    model: str | None = None
    effort: str | None = None


class PromptRecord(_Record, tag="prompt"):
    turn: int
    message_id: str
    content: list[Json]


class UpdateRecord(_Record, tag="update"):
    update: Json


class PermissionRecord(_Record, tag="permission"):
    tool_call_id: str
    kind: str
    answer: str


class Tokens(msgspec.Struct, rename="camel"):
    """Words, since there is no model: told by the user, said by the agent, thought by the agent."""

    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens + self.thought_tokens


class EndRecord(_Record, tag="end"):
    turn: int
    usage: Tokens
    cost: float
    stop_reason: str | None = None
    error: str | None = None


Record = SessionRecord | SettingRecord | PromptRecord | UpdateRecord | PermissionRecord | EndRecord

decode_record = msgspec.json.Decoder(Record).decode
encode_record = msgspec.json.Encoder().encode
