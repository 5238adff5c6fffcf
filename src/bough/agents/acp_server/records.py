"""Defines the records of a session file, one JSON object per line. The packages of the agents document their fields.

All agents share one format: a record has the fields that its agent uses, and defaults are not written.
"""

import msgspec

from bough.agents.json_rpc import Json


class _Record(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    # No default: defaults are not written, and every line must carry its time.
    at: str


class SessionRecord(_Record, tag="session"):
    """The first line of a file."""

    id: str
    cwd: str
    forked_from: str | None = None


class SettingRecord(_Record, tag="setting"):
    """Settings that hold from here on."""

    cwd: str | None = None
    mode: str | None = None
    model: str | None = None
    effort: str | None = None


class PromptRecord(_Record, tag="prompt"):
    """A prompt, written before the agent acts on it."""

    turn: int
    message_id: str
    content: list[Json]


class SteerRecord(_Record, tag="steer"):
    """A prompt that came in the middle of a turn and became part of it."""

    message_id: str
    content: list[Json]


class UpdateRecord(_Record, tag="update"):
    """A `session/update` as it was sent."""

    update: Json


class PermissionRecord(_Record, tag="permission"):
    """The answer to a permission request. The demo agent records the tool call, the terminal the command."""

    answer: str
    tool_call_id: str | None = None
    kind: str | None = None
    command: str | None = None
    cwd: str | None = None


class ShellRecord(_Record, tag="shell"):
    """The working directory and the exported variables of the terminal's shell after a command."""

    cwd: str
    set: dict[str, str] = {}
    unset: list[str] = []


class Tokens(msgspec.Struct, rename="camel"):
    """The tokens of a turn. One word counts as one token, since there is no model."""

    input_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens + self.thought_tokens


class EndRecord(_Record, tag="end"):
    """The end of a turn. A turn without one was cut off."""

    turn: int
    stop_reason: str | None = None
    error: str | None = None
    usage: Tokens | None = None
    cost: float | None = None


Record = (
    SessionRecord
    | SettingRecord
    | PromptRecord
    | SteerRecord
    | UpdateRecord
    | PermissionRecord
    | ShellRecord
    | EndRecord
)

decode_record = msgspec.json.Decoder(Record).decode
encode_record = msgspec.json.Encoder().encode
