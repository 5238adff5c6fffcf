"""Requests the permission that its prompt describes: the last block is JSON with `call`, optionally `before` (an update
about the call to send first) and `options`. It writes each prompt and each answer to the given file, one JSON object
per line."""

import json
import sys
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say

OPTIONS = [
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]


def note(**entry: Any) -> None:
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps(entry) + "\n")


def ask(request: dict[str, Any]) -> None:
    for update in request.get("before", []):
        changed = {"sessionUpdate": "tool_call", "toolCallId": "call", **update}
        say(method="session/update", params={"sessionId": SESSION, "update": changed})
    call = {"toolCallId": "call", **request["call"]}
    params = {"sessionId": SESSION, "toolCall": call, "options": request.get("options", OPTIONS)}
    say(id=0, method="session/request_permission", params=params)


if __name__ == "__main__":
    prompt = None
    for message in messages():
        if message.get("method") == "session/prompt":
            prompt = message["id"]
            blocks = [block["text"] for block in message["params"]["prompt"]]
            note(prompt=blocks)
            ask(json.loads(blocks[-1]))
        elif "method" in message:
            answer(message)
        else:
            note(answer=message["result"]["outcome"].get("optionId", "cancelled"))
            say(id=prompt, result={"stopReason": "end_turn"})
