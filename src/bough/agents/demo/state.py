"""Derives the state of a demo session from its records."""

from pathlib import Path

from bough.agents.acp_server.records import (
    EndRecord,
    PermissionRecord,
    PromptRecord,
    Record,
    SettingRecord,
    SteerRecord,
    Tokens,
    UpdateRecord,
)
from bough.agents.acp_server.session_store import RecordedSession, SessionFile, SessionStore
from bough.agents.json_rpc import Json


class DemoState(RecordedSession):
    """The result of applying a session's records in order."""

    def __init__(self) -> None:
        super().__init__()
        self.model = "demo-small"
        self.effort = "medium"
        self.title: str | None = None
        # Every text that the user has sent.
        self.texts: list[str] = []
        # The kinds of tool calls that are allowed for the rest of the session.
        self.always_allowed: set[str] = set()
        self.tokens = Tokens()
        self.cost = 0.0

    def apply(self, record: Record) -> None:
        """Applies the next record."""
        super().apply(record)
        match record:
            case SettingRecord():
                self.model = record.model or self.model
                self.effort = record.effort or self.effort
            case PromptRecord() | SteerRecord():
                self.texts += _texts(record)
            case UpdateRecord():
                if record.update.get("sessionUpdate") == "session_info_update":
                    self.title = record.update.get("title", self.title)
            case PermissionRecord():
                if record.answer == "allow_always" and record.kind is not None:
                    self.always_allowed.add(record.kind)
            case EndRecord():
                usage = record.usage or Tokens()
                self.tokens.input_tokens += usage.input_tokens
                self.tokens.output_tokens += usage.output_tokens
                self.tokens.thought_tokens += usage.thought_tokens
                self.cost = round(self.cost + (record.cost or 0.0), 6)
            case _:
                pass


DemoFile = SessionFile[DemoState]
DemoStore = SessionStore[DemoState]


def open_store(folder: Path) -> DemoStore:
    """Returns the store of the demo sessions in a folder."""
    return SessionStore(folder, "demo", DemoState)


def _texts(prompt: PromptRecord | SteerRecord) -> list[str]:
    """Returns every text of a prompt, including embedded files."""
    texts: list[str] = []
    for block in prompt.content:
        body: Json = block["resource"] if block["type"] == "resource" else block
        if "text" in body:
            texts.append(body["text"])
    return texts
