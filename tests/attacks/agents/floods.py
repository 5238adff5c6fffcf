"""An agent that answers each prompt `KIND COUNT` with so many lines of one kind, as fast as they are taken."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, chunk_line, messages

LONG = 8 * 1024 * 1024
BATCH = 500


def _update(session: str = SESSION, **fields: Any) -> bytes:
    params = {"sessionId": session, "update": fields}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


def _call(call_id: str, text: str) -> bytes:
    block = {"type": "content", "content": {"type": "text", "text": text}}
    fields: dict[str, Any] = {"toolCallId": call_id, "title": text, "kind": "other", "content": [block]}
    return _update(sessionUpdate="tool_call_update", **fields)


def _request(number: int) -> bytes:
    params: dict[str, Any] = {
        "sessionId": SESSION,
        "toolCall": {"toolCallId": f"c{number}", "title": "make", "kind": "execute", "rawInput": {"command": "make"}},
        "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}],
    }
    message = {"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": params}
    return json.dumps(message).encode()


def _plan(number: int) -> bytes:
    entries = [{"content": f"{number}", "priority": "high", "status": "pending"}]
    return _update(sessionUpdate="plan", entries=entries)


KINDS: dict[str, Callable[[int], bytes]] = {
    "chunks": lambda number: chunk_line(f"{number} "),
    "messages": lambda number: _plan(number) if number % 2 else chunk_line(f"{number} "),
    "updates of one call": lambda number: _call("call", f"step {number}"),
    "calls": lambda number: _call(f"call {number}", "step"),
    "plans": _plan,
    "updates for others": lambda number: _update(f"other {number}", sessionUpdate="plan", entries=[]),
    "commands": lambda number: _update(
        sessionUpdate="available_commands_update", availableCommands=[{"name": f"c{number}", "description": "x"}]
    ),
    "answers": lambda number: json.dumps({"jsonrpc": "2.0", "id": f"x{number}", "result": {}}).encode(),
    "unknown notifications": lambda number: json.dumps({"jsonrpc": "2.0", "method": f"x/{number}"}).encode(),
    "permissions": _request,
    "long lines": lambda number: chunk_line(f"{number}" + "x" * LONG),
    "long calls": lambda number: _call("call", f"{number}" + "x" * LONG),
}


def _drain(incoming: Iterator[dict[str, Any]]) -> None:
    for message in incoming:
        if message.get("method") == "session/prompt":
            flood(message)
        elif "method" in message:
            answer(message)


def flood(prompt: dict[str, Any]) -> None:
    """Writes the lines in a thread, so that answers are read meanwhile, and then ends the turn."""
    kind, _, count = prompt["params"]["prompt"][-1]["text"].rpartition(" ")

    def write_all() -> None:
        for number in range(int(count)):
            sys.stdout.buffer.write(KINDS[kind](number) + b"\n")
            if number % BATCH == 0:
                sys.stdout.buffer.flush()
        answer(prompt)

    threading.Thread(target=write_all, daemon=True).start()


if __name__ == "__main__":
    _drain(messages())
