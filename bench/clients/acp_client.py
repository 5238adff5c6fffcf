"""A minimal editor for the benchmarks: a connection to `/acp` that sends requests and reads only as much of the updates
as necessary."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from bench.clients.websocket import Socket
from tests.support.server import ServerProcess

SILENCE = 60.0
# Responses of Bough start like this; everything that it sends unasked has no id.
ANSWER = b'{"jsonrpc":"2.0","id":'
SPOKEN = ("agent_message_chunk", "agent_thought_chunk")


class _Content(msgspec.Struct):
    text: str = ""


class _Update(msgspec.Struct, rename="camel"):
    session_update: str
    message_id: str = ""
    content: _Content | list[msgspec.Raw] | None = None


class _Params(msgspec.Struct):
    update: _Update | None = None


class _Line(msgspec.Struct):
    params: _Params | None = None


_decode = msgspec.json.Decoder(_Line).decode


class Chunk(NamedTuple):
    """The text of one update."""

    kind: str
    message_id: str
    text: str


def chunk(frame: bytes) -> Chunk | None:
    """Returns the text in a frame, if it has any."""
    params = _decode(frame).params
    update = params.update if params is not None else None
    if update is None or type(update.content) is not _Content:
        return None
    return Chunk(update.session_update, update.message_id, update.content.text)


class Editor:
    """One connection with one request at a time."""

    def __init__(self, server: ServerProcess, cwd: Path) -> None:
        self._socket = Socket(server.url, "/acp", server.token, SILENCE)
        self._frames = self._socket.messages()
        self._cwd = str(cwd)
        self._count = 0
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.__exit__()

    def new(self, agent: str) -> str:
        self.ask("session/new", {"cwd": self._cwd, "mcpServers": [], "_meta": {"bough": {"agent": agent}}})
        return self.answer()["sessionId"]

    def resume(self, session_id: str) -> None:
        """Watches a session from now on."""
        self.ask("session/resume", self._known(session_id))
        self.answer()

    def load(self, session_id: str) -> list[bytes]:
        """Returns every frame that came before the response."""
        self.ask("session/load", self._known(session_id))
        frames: list[bytes] = []
        for frame in self._frames:
            if frame.startswith(ANSWER):
                _result(frame)
                return frames
            frames.append(frame)
        raise ConnectionError("the server hung up")

    def prompt(self, session_id: str, text: str) -> None:
        self.ask("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})

    def first_words(self) -> None:
        """Waits until the agent sends text."""
        while b'"agent_message_chunk"' not in next(self._frames):
            pass

    def hear(self, characters: int) -> tuple[float, list[str]]:
        """Waits for this many characters; returns the time and the messages."""
        parts: dict[str, list[str]] = {}
        while characters > 0:
            update = chunk(next(self._frames))
            if update is not None and update.kind in SPOKEN:
                parts.setdefault(update.message_id, []).append(update.text)
                characters -= len(update.text)
        return time.monotonic(), ["".join(part) for part in parts.values()]

    def ask(self, method: str, params: dict[str, Any]) -> None:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self._socket.send(msgspec.json.encode(message))

    def answer(self) -> dict[str, Any]:
        """Waits for the response to the last request."""
        for frame in self._frames:
            if frame.startswith(ANSWER):
                return _result(frame)
        raise ConnectionError("the server hung up")

    def _known(self, session_id: str) -> dict[str, Any]:
        return {"sessionId": session_id, "cwd": self._cwd, "mcpServers": []}


def _result(frame: bytes) -> dict[str, Any]:
    message: dict[str, Any] = msgspec.json.decode(frame)
    if "result" not in message:
        raise RuntimeError(f"Bough answered {frame[:500]!r}")
    return message["result"]
