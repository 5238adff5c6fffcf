"""Asks for what its prompt says: the last block is JSON with `call`, and perhaps `before` (what it says of the call
first) and `options`. What it was prompted and answered it writes, a JSON object a line, to the file that it is given.
"""

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
    with open(sys.argv[1], "a") as heard:
        heard.write(json.dumps(entry) + "\n")


def ask(wish: dict[str, Any]) -> None:
    for update in wish.get("before", []):
        told = {"sessionUpdate": "tool_call", "toolCallId": "call", **update}
        say(method="session/update", params={"sessionId": SESSION, "update": told})
    call = {"toolCallId": "call", **wish["call"]}
    params = {"sessionId": SESSION, "toolCall": call, "options": wish.get("options", OPTIONS)}
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
