"""Behaves well, and returns each message that it receives as an update of the unknown kind `echo`.

It does not answer the prompt `wait`; it answers `$/cancel_request` then as the protocol requires. At `ask` it first
asks the client, with the ids 0, "a" and null; at `late` it sends a chunk after the end of the turn."""

import json
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, chunk_line, messages, say, write


def obey(message: dict[str, Any]) -> None:
    text = message["params"]["prompt"][-1].get("text")
    if text == "ask":
        for number in (0, "a", None):
            say(id=number, method="fs/read_text_file", params={"sessionId": SESSION, "path": "/x"})
    if text != "wait":
        lines = [chunk_line("one"), chunk_line("two")]
        done = {"jsonrpc": "2.0", "id": message["id"], "result": {"stopReason": "end_turn"}}
        lines.append(json.dumps(done).encode())
        if text == "late":
            lines.append(chunk_line("late"))
        write(b"\n".join(lines))


if __name__ == "__main__":
    for message in messages():
        update = {"sessionUpdate": "echo", "message": message}
        say(method="session/update", params={"sessionId": SESSION, "update": update})
        if message.get("method") == "session/prompt":
            obey(message)
        elif message.get("method") == "$/cancel_request":
            error = {"code": -32800, "message": "cancelled"}
            say(id=message["params"]["requestId"], error=error)
        elif "method" in message:
            answer(message)
