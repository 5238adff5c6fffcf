"""Tells the value of the variable TOLD wherever an agent can tell something, in pieces and whole.

The prompt `crash` makes it write the value to stderr and die; `fail` makes it answer with an error; `half` makes it say
the first half, and the second half only when the file named on its command line exists; `ask` makes it ask for
permission to use it, and `ask long` for a use with a long title."""

import os
import sys
import time
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say


def update(kind: str, /, **fields: Any) -> None:
    say(method="session/update", params={"sessionId": SESSION, "update": {"sessionUpdate": kind, **fields}})


def chunk(kind: str, text: str) -> None:
    update(kind, content={"type": "text", "text": text})


def tell(value: str) -> None:
    for kind in ("agent_thought_chunk", "agent_message_chunk"):
        chunk(kind, "begin ")
        for character in value:
            chunk(kind, character)
        chunk(kind, f" {value[:3]}")
        chunk(kind, " end")
    call = {"toolCallId": "c1", "title": f"Use {value}", "kind": "execute", "status": "in_progress"}
    update(
        "tool_call", **call, rawInput={"command": f"curl {value}", value: 1}, locations=[{"path": f"/x/{value}.txt"}]
    )
    for piece in (value[:4], value[4:], " done"):
        update("tool_call_update", toolCallId="c1", _meta={"terminal_output_delta": {"data": piece}})
        time.sleep(0.05)
    content = [{"type": "diff", "path": f"/x/{value}", "oldText": None, "newText": f"key={value}"}]
    update("tool_call_update", toolCallId="c1", status="completed", content=content)
    # A call need not have a status.
    update("tool_call", toolCallId="c0", title="Print")
    for character in value:
        update("tool_call_update", toolCallId="c0", _meta={"terminal_output_delta": {"data": character}})
        time.sleep(0.02)
    update("plan", entries=[{"content": f"Use {value}", "status": "pending", "priority": "high"}])
    update("session_info_update", title=f"About {value}")
    update("available_commands_update", availableCommands=[{"name": "x", "description": value}])
    update("made_up_update", secret=value)
    chunk("agent_message_chunk", "The end.")


def run(message: dict[str, Any], value: str) -> None:
    text = message["params"]["prompt"][-1]["text"]
    if text == "crash":
        print(f"Error: bad key {value}", file=sys.stderr, flush=True)
        os._exit(3)
    if text == "fail":
        say(id=message["id"], error={"code": -32603, "message": f"bad key {value}", "data": {"details": value}})
        return
    if text == "half":
        chunk("agent_message_chunk", f"It is {value[:8]}")
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        chunk("agent_message_chunk", f"{value[8:]}.")
    elif text in ("ask", "ask long"):
        command = f"curl {'x' * 480 if text == 'ask long' else ''}{value}"
        call = {"toolCallId": "c2", "title": command, "kind": "execute", "rawInput": {"command": command}}
        options = [
            {"optionId": "yes", "name": f"Allow {value}", "kind": "allow_once"},
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        params = {"sessionId": SESSION, "toolCall": call, "options": options}
        say(id="ask", method="session/request_permission", params=params)
        return
    else:
        tell(value)
    answer(message)


if __name__ == "__main__":
    prompt: dict[str, Any] = {}
    for received in messages():
        if received.get("method") == "session/prompt":
            prompt = received
            run(received, os.environ["TOLD"])
        elif "method" not in received:
            answer(prompt)
        else:
            answer(received)
