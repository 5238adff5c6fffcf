"""Reads requests and answers the ones that a misbehaving agent does not spoil."""

import json
import sys
from collections.abc import Iterator
from typing import Any

SESSION = "replay"
"""The session id of all these agents; recorded files hold it literally."""

_ANSWERS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
    "session/new": {"sessionId": SESSION},
    "session/fork": {"sessionId": SESSION},
    "session/prompt": {"stopReason": "end_turn"},
}


def messages() -> Iterator[dict[str, Any]]:
    """Yields the client's messages until its input ends."""
    for line in sys.stdin.buffer:
        yield json.loads(line)


def write(line: bytes) -> None:
    """Writes one line and flushes it."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def say(**message: Any) -> None:
    """Writes one message."""
    write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode())


def answer(message: dict[str, Any]) -> None:
    """Answers a request as a well-behaved agent would; ignores notifications."""
    if "id" in message:
        say(id=message["id"], result=_ANSWERS.get(message["method"], {}))


def serve() -> None:
    """Answers everything until the client closes the input."""
    for message in messages():
        answer(message)


def chunk_line(text: str) -> bytes:
    """Returns a message chunk as a line."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": SESSION, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()
