"""Owns the session files: creates, forks, lists and deletes them, and knows the state that follows from one.
It leaves writing and reading to `serving`, and the meaning of what is said in them to the turns.
"""

from pathlib import Path

from bough.agents.acp_server.record_files import RecordFile, Shelf, now
from bough.agents.demo.records import (
    EndRecord,
    Json,
    PermissionRecord,
    PromptRecord,
    Record,
    SessionRecord,
    SettingRecord,
    Tokens,
    UpdateRecord,
    decode_record,
)


class State:
    """What the records so far amount to."""

    def __init__(self) -> None:
        self.cwd = ""
        self.mode = "default"
        self.model = "demo-small"
        self.effort = "medium"
        self.title: str | None = None
        self.turns = 0
        self.texts: list[str] = []
        self.always: set[str] = set()
        self.tokens = Tokens()
        self.cost = 0.0

    def apply(self, record: Record) -> None:
        match record:
            case SessionRecord():
                self.cwd = record.cwd
            case SettingRecord():
                self.cwd = record.cwd or self.cwd
                self.mode = record.mode or self.mode
                self.model = record.model or self.model
                self.effort = record.effort or self.effort
            case PromptRecord():
                self.turns += 1
                self.texts += texts_of(record)
            case UpdateRecord():
                if record.update.get("sessionUpdate") == "session_info_update":
                    self.title = record.update.get("title", self.title)
            case PermissionRecord():
                if record.answer == "allow_always":
                    self.always.add(record.kind)
            case EndRecord():
                self.tokens.input_tokens += record.usage.input_tokens
                self.tokens.output_tokens += record.usage.output_tokens
                self.tokens.thought_tokens += record.usage.thought_tokens
                self.cost = round(self.cost + record.cost, 6)


class SessionFile(RecordFile[Record]):
    """One session's file and the state that follows from it."""

    def __init__(self, session_id: str, path: Path) -> None:
        super().__init__(path, decode_record)
        self.id = session_id
        self._state = State()

    def state(self) -> State:
        """Reads what was appended since, by this process or another, and returns the state as of now."""
        for record in self.unread():
            self._state.apply(record)
        return self._state


class Home:
    """The folder of all sessions."""

    def __init__(self, folder: Path) -> None:
        self._shelf = Shelf(folder, "demo")

    def create(self, cwd: str) -> SessionFile:
        return self._write(cwd, None, [])

    def fork(self, parent: SessionFile, cwd: str) -> SessionFile:
        """Copies what is recorded up to now under a new id."""
        records = [record for record in parent.records() if not isinstance(record, SessionRecord)]
        # The fork lives where it was asked to, wherever its parent had moved to.
        return self._write(cwd, parent.id, [*records, SettingRecord(at=now(), cwd=cwd)])

    def find(self, session_id: str) -> SessionFile | None:
        path = self._shelf.existing(session_id)
        return None if path is None else SessionFile(session_id, path)

    def delete(self, session_id: str) -> None:
        self._shelf.delete(session_id)

    def page(self, cwd: str | None, cursor: str | None) -> tuple[list[tuple[SessionFile, float]], str | None]:
        """Returns sessions and the times of their last change, latest first, and the next cursor."""

        def wanted(session_id: str) -> SessionFile | None:
            file = self.find(session_id)
            return file if file is not None and (cwd is None or file.state().cwd == cwd) else None

        return self._shelf.page(cursor, wanted)

    def _write(self, cwd: str, forked_from: str | None, records: list[Record]) -> SessionFile:
        session_id = self._shelf.new_id()
        header = SessionRecord(at=now(), id=session_id, cwd=cwd, forked_from=forked_from)
        return SessionFile(session_id, self._shelf.write(session_id, [header, *records]))


def texts_of(prompt: PromptRecord) -> list[str]:
    """Returns every text that the user sent in a prompt, quoted matter and embedded files included."""
    texts: list[str] = []
    for block in prompt.content:
        body: Json = block["resource"] if block["type"] == "resource" else block
        if "text" in body:
            texts.append(body["text"])
    return texts
