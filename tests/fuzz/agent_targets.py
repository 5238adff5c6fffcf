"""Targets that an agent's process controls: its lines, what Bough makes of them, and the frames of keepers."""

from __future__ import annotations

import os
import selectors
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from bough.agents.acp.answers import read_initialized, read_prompt, read_session
from bough.agents.acp.chunk_batches import MANY, decode_batch
from bough.agents.acp.wire import AgentRequest, AgentResponse, Junk, SessionUpdate, decode
from bough.agents.catalog import load_catalog
from bough.agents.keeper import frames
from bough.agents.keeper.agent_process import AgentErrors, AgentProcess
from bough.agents.keeper.dispatch import Dispatcher
from bough.agents.keeper.frames import Frame, FrameReader, TooLong
from bough.agents.keeper.journal import Journal, is_damaged, read_journal
from bough.agents.keeper_client.keeper_stream import KeeperStream
from bough.agents.lines import LineSplitter
from bough.agents.process.stderr import telling_line
from bough.core.policy.decide import OWN_SERVER, decide
from bough.core.policy.tool_use import read as tool_use
from bough.core.search.message_text import searchable
from bough.core.transcripts.fold import Fold
from bough.core.transcripts.growing_message import GrowingMessage
from bough.core.transcripts.replay import HistoryText
from bough.errors import Invalid
from bough.model.message import Message, raw
from bough.model.session import MODES
from bough.model.tool import ToolUse
from bough.model.values.visible import ORIGINAL, visible, visible_call
from tests.fuzz.target import Target

CATALOG = load_catalog(Path("/nowhere"))
AGENTS = ("demo", "claude-code", "codex", "gemini", "opencode", "unknown")
CWD = "/nowhere/repo"
EXACT = ("toolCallId", "callId", "optionId", ORIGINAL)
AT = "2026-11-15T08:19:00.000000Z"
KEY_HASH = "0" * 64


def acp_lines(data: bytes) -> None:
    """Each line is a message or junk, and a message can be read by everyone who reads it."""
    lines = LineSplitter().feed(data + b"\n")
    _check_batch(lines * MANY)
    for line in lines:
        try:
            message = decode(line)
        except Junk:
            continue
        if isinstance(message, SessionUpdate):
            # Of a chunk of text nobody reads more than the text.
            if message.text is None:
                assert isinstance(msgspec.json.decode(message.raw), dict)
        elif isinstance(message, AgentResponse) and message.error is None:
            read_initialized(message.result)
            read_session(message.result, "s")
            read_prompt(message.result)


def _check_batch(lines: list[bytes]) -> None:
    """Checks that a batch decodes to the same messages as its lines one by one."""
    batch = decode_batch(lines)
    if batch is not None:
        one_by_one = [decode(line) for line in lines]
        assert _joined(batch) == _joined(one_by_one)


def _joined(messages: Sequence[object]) -> list[tuple[object, ...]]:
    """Returns updates with adjacent texts of one message joined."""
    joined: list[tuple[object, ...]] = []
    for message in messages:
        assert isinstance(message, SessionUpdate)
        head = (message.session_id, message.kind, message.message_id)
        if message.text is None:
            joined.append((*head, message.raw))
        elif joined and len(joined[-1]) == 5 and joined[-1][:3] == head:
            joined[-1] = (*head, "text", f"{joined[-1][4]}{message.text}")
        else:
            joined.append((*head, "text", message.text))
    return joined


def acp_turn(data: bytes) -> None:
    """Whatever an agent reports and asks for becomes a transcript that can be stored, shown, searched and quoted, and
    policy decides about it."""
    for agent in AGENTS:
        entry = CATALOG.entry(agent)
        fold = Fold(entry.tools if entry is not None else None)
        entries: dict[GrowingMessage, None] = {}
        for line in data.split(b"\n"):
            try:
                message = decode(line)
            except Junk:
                continue
            if isinstance(message, SessionUpdate):
                fold.add([message])
            elif isinstance(message, AgentRequest):
                _ask(agent, fold, message)
            entries |= fold.dirty
        fold.close()
        _check_transcript([*entries, *fold.dirty])


def _ask(agent: str, fold: Fold, request: AgentRequest) -> None:
    params: Any = msgspec.json.decode(bytes(request.params) or b"null")
    call = cast("dict[str, Any]", params).get("toolCall") if isinstance(params, dict) else None
    if not isinstance(call, dict):
        return
    body = fold.tool({**cast("dict[str, Any]", call), "sessionUpdate": None}).body
    use = tool_use.read(CATALOG, agent, CWD, body, ("other",))
    for mode in MODES:
        effect = decide(mode, use, [], []).effect
        assert effect != "allow" or mode != "plan" or use.server == OWN_SERVER or use.own_plan
        if any(hit.never for hit in use.protected):
            assert effect == "deny"
    _check_shown(visible_call(tool_use.call(body)))
    assert msgspec.json.decode(raw(use), type=ToolUse) == use


def _check_shown(value: Any) -> None:
    """No text that a person decides about holds a hidden character."""
    if isinstance(value, str):
        assert visible(value) == value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            _check_shown(item)
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            assert visible(name) == name
            if name not in EXACT:
                _check_shown(item)


def _check_transcript(entries: list[GrowingMessage]) -> None:
    messages = [
        Message(entry.id, "s", "t", place, entry.role, entry.content(), AT, AT) for place, entry in enumerate(entries)
    ]
    for message in messages:
        msgspec.json.decode(message.content)
        searchable(message.content)
    Fold().restore(messages)
    history = HistoryText()
    history.add(reversed(messages))
    history.build().text.encode()


def stderr_tail(data: bytes) -> None:
    """The line that tells why an agent ended is one line."""
    assert len(telling_line(data.decode(errors="replace")).splitlines()) <= 1


def catalog_file(data: bytes) -> None:
    """A user's file describes an agent, or it is listed as broken with the reason."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "agents", "mine.toml")
        file.parent.mkdir()
        file.write_bytes(data)
        catalog = load_catalog(Path(folder))
        if catalog.broken:
            assert catalog.broken[0].error
            return
        entry = next(entry for entry in catalog.entries() if entry.origin == str(file))
        for mode in MODES:
            try:
                entry.mode(mode)
            except Invalid as error:
                assert error.code == "mode_unmapped"


def keeper_frames(data: bytes) -> None:
    """Frames come out whole, in whatever pieces they arrive, at both ends of the socket."""
    heard: list[Frame] = []
    stream = KeeperStream(0, heard.append, lambda: None)
    stream.data_received(data)
    whole, halves = _frames([data]), _frames([data[: len(data) // 2], data[len(data) // 2 :]])
    assert whole == halves
    if whole is not None:
        others = [frame for frame in whole if frame.head.kind != frames.LINES]
        assert heard == others


def _frames(pieces: list[bytes]) -> list[Frame] | None:
    reader = FrameReader()
    try:
        return [frame for piece in pieces for frame in reader.feed(piece)]
    except TooLong:
        return None


def keeper_journal(data: bytes) -> None:
    """A journal is read up to the first frame that is not whole, whatever is in the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal")
        path.write_bytes(data)
        read = list(read_journal(path))
        offset = sum(frames.HEADER.size + len(frame.payload) for frame in read)
        assert offset <= len(data)
        is_damaged(path, offset)


class _Input:
    """Takes lines for an agent that does not exist."""

    def __init__(self) -> None:
        self.shut = False
        self.size = 0
        self.lines: list[bytes] = []

    def put(self, line: bytes) -> None:
        self.lines.append(line)


class _Agent:
    """Stands in for the agent of a keeper."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self.errors = AgentErrors(reading)
        self.input = _Input()
        self.pid = 1
        self.status: int | None = None

    def close(self) -> None:
        os.close(self.errors.fd)
        os.close(self._writing)


def keeper_door(data: bytes) -> None:
    """No frame of a process without the key ends a keeper or reaches its agent."""
    agent, ends, opened = _Agent(), list[float](), list[int]()
    with (
        tempfile.TemporaryDirectory() as folder,
        selectors.DefaultSelector() as selector,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller,
    ):
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            listener.bind(f"/proc/self/fd/{here}/socket")
            listener.listen()
            journal = Journal(here)
            opened.append(journal._fd)  # pyright: ignore[reportPrivateUsage]
            Dispatcher(selector, listener, journal, cast("AgentProcess", agent), ends.append, KEY_HASH)
            caller.connect(f"/proc/self/fd/{here}/socket")
            caller.setblocking(False)
            caller.send(data)
            for _ in range(4):
                for key, _events in selector.select(0):
                    key.data()
            for key in list(selector.get_map().values()):
                if key.fileobj is not listener:
                    cast("socket.socket", key.fileobj).close()
        finally:
            for descriptor in (here, *opened):
                os.close(descriptor)
            agent.close()
    assert not agent.input.lines and not ends


TARGETS = (
    Target("acp_lines", acp_lines),
    Target("acp_turn", acp_turn),
    Target("stderr_tail", stderr_tail),
    Target("catalog_file", catalog_file),
    Target("keeper_frames", keeper_frames),
    Target("keeper_journal", keeper_journal),
    Target("keeper_door", keeper_door),
)
