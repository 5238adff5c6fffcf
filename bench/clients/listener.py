"""Follows one session over WebSocket in a process of its own and reports, at the end of each turn, the text and when it
was complete: `python -m bench.clients.listener URL TOKEN SESSION CHARACTERS`."""

from __future__ import annotations

import sys
import time

import msgspec

from bench.clients.websocket import Socket
from bench.support.recording import digest

ENDED = ("completed", "failed", "cancelled")


class Heard(msgspec.Struct):
    """A turn as the subscriber saw it; times are from the clock that all processes share."""

    whole_at: float
    frames: int
    digest: str
    status: str


class _Frame(msgspec.Struct, rename="camel"):
    type: str
    message_id: str = ""
    offset: int = 0
    text: str = ""
    data: msgspec.Raw = msgspec.Raw()


class _Content(msgspec.Struct):
    type: str
    text: str = ""


class _Message(msgspec.Struct):
    id: str
    role: str
    position: int
    content: _Content


class _Task(msgspec.Struct):
    status: str


_decode_frame = msgspec.json.Decoder(_Frame).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_task = msgspec.json.Decoder(_Task).decode


class Turn:
    """The text of one turn as it arrives."""

    def __init__(self, characters: int) -> None:
        self._missing = characters
        self._parts: dict[str, list[str]] = {}
        self._lengths: dict[str, int] = {}
        self.whole_at = 0.0
        self.frames = 0

    def take(self, frame: _Frame) -> None:
        self.frames += 1
        if frame.type == "message.delta":
            self._add(frame.message_id, frame.offset, frame.text)
        elif frame.type in ("message.created", "message.patched"):
            message = _decode_message(frame.data)
            if message.role == "agent" and message.content.type in ("text", "thought"):
                self._parts.setdefault(message.id, [])
                self._add(message.id, 0, message.content.text)

    def _add(self, message_id: str, offset: int, text: str) -> None:
        """Adds the part of the text that is new and skips the rest."""
        have = self._lengths.get(message_id, 0)
        if offset > have:
            raise RuntimeError(f"{offset - have} characters of {message_id} were never sent")
        fresh = text[have - offset :]
        if fresh:
            self._parts[message_id].append(fresh)
            self._lengths[message_id] = have + len(fresh)
            self._missing -= len(fresh)
            if self._missing <= 0 and not self.whole_at:
                self.whole_at = time.monotonic()

    def heard(self, status: str) -> Heard:
        texts = ["".join(parts) for parts in self._parts.values()]
        return Heard(self.whole_at, self.frames, digest(texts), status)


def listen(url: str, token: str, session_id: str, characters: int) -> None:
    with Socket(url, f"/api/events?sessionId={session_id}", token) as socket:
        turn = Turn(characters)
        for data in socket.messages():
            frame = _decode_frame(data)
            if frame.type == "stream.ready":
                print("ready", flush=True)
            elif frame.type == "task.patched" and (status := _decode_task(frame.data).status) in ENDED:
                print(msgspec.json.encode(turn.heard(status)).decode(), flush=True)
                turn = Turn(characters)
            else:
                turn.take(frame)


if __name__ == "__main__":
    listen(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
