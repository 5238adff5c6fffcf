"""Asks before it works, every time with the JSON-RPC id 0; each answer is written to the file that it is given.

Allowed to look, it dies; told to go on after that, or to do anything else, it asks to remove and ends its turn
when it may. Denied, it ends the turn as `cancelled`, as some agents do.
"""

import os
import sys
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]


def ask(what: str) -> None:
    call = {"toolCallId": "call", "title": what, "kind": "execute"}
    say(id=0, method="session/request_permission", params={"sessionId": SESSION, "toolCall": call, "options": OPTIONS})


def hear(outcome: dict[str, Any], what: str, prompt: Any) -> None:
    said = outcome.get("optionId", "cancelled")
    with open(sys.argv[1], "a") as heard:
        heard.write(f"{what}: {said}\n")
    if said == "yes" and what == "look":
        os._exit(5)
    say(id=prompt, result={"stopReason": "end_turn" if said == "yes" else "cancelled"})


if __name__ == "__main__":
    what, prompt = "", None
    for message in messages():
        if message.get("method") == "session/prompt":
            # A prompt of one block is new; more of them tell what was cut off.
            what, prompt = "look" if message["params"]["prompt"][-1]["text"] == "look" else "remove", message["id"]
            ask(what)
        elif "method" in message:
            answer(message)
        else:
            hear(message["result"]["outcome"], what, prompt)
